//! Columns: arrays that Python reads and nobody writes.

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;

/// A read-only array that takes over the memory of `values`.
pub fn column<T: Element>(py: Python<'_>, values: Vec<T>) -> Py<PyArray1<T>> {
    let array = PyArray1::from_vec(py, values);
    array.readwrite().make_nonwriteable();
    array.unbind()
}
