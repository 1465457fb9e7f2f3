//! Arguments of the constructors: links of named shapes, extents, and lists of links.

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};
use trncomm_core::topology::{LinkInput, LinkSpec};

use crate::convert::TOPOLOGY;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// A bandwidth and a latency.
pub type Spec<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The link that a pair describes.
pub fn pair(spec: Spec<'_>) -> PyResult<LinkSpec> {
    let (bandwidth, latency) = spec;
    link("bandwidth", &bandwidth, "latency", &latency)
}

pub fn link(bandwidth_name: &str, bandwidth: Any, latency_name: &str, latency: Any) -> PyResult<LinkSpec> {
    Ok(LinkSpec {
        bandwidth: TOPOLOGY.bandwidth(bandwidth_name, bandwidth)?,
        latency: TOPOLOGY.time(latency_name, latency)?,
    })
}

pub fn extents(shape: Any) -> PyResult<Vec<usize>> {
    shape
        .try_iter()?
        .map(|extent| TOPOLOGY.count("shape", &extent?))
        .collect()
}

/// One link for each dimension, from a value for all or from a sequence.
pub fn links_by_dimension(dimensions: usize, bandwidth: Any, latency: Any) -> PyResult<Vec<LinkSpec>> {
    let bandwidths = spread("bandwidth", bandwidth, dimensions)?;
    let latencies = spread("latency", latency, dimensions)?;
    bandwidths
        .iter()
        .zip(&latencies)
        .map(|(bandwidth, latency)| link("bandwidth", bandwidth, "latency", latency))
        .collect()
}

fn spread<'py>(name: &str, value: Any<'_, 'py>, dimensions: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let is_one = value.is_instance_of::<PyString>() || value.is_instance_of::<PyInt>() || value.try_iter().is_err();
    if is_one {
        return Ok(vec![value.clone(); dimensions]);
    }
    let values = value.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    if values.len() == dimensions {
        Ok(values)
    } else {
        Err(TOPOLOGY.raise(
            name,
            format!(
                "expected one value, or one for each of {dimensions} dimensions, got {}",
                values.len()
            ),
        ))
    }
}

pub fn link_input(index: usize, row: Any) -> PyResult<LinkInput> {
    let fields = row.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let (source, destination, bandwidth, latency, tier) = match fields.as_slice() {
        [source, destination, bandwidth, latency] => (source, destination, bandwidth, latency, None),
        [source, destination, bandwidth, latency, tier] => (source, destination, bandwidth, latency, Some(tier)),
        _ => {
            let got = fields.len();
            return Err(TOPOLOGY.raise(
                &format!("link {index}"),
                format!("expected (source, destination, bandwidth, latency) and perhaps a tier, got {got} values"),
            ));
        }
    };
    let name = |field: &str| format!("{field} of link {index}");
    Ok(LinkInput {
        source: TOPOLOGY.number(&name("source"), source)?,
        destination: TOPOLOGY.number(&name("destination"), destination)?,
        bandwidth: TOPOLOGY.bandwidth(&name("bandwidth"), bandwidth)?.bytes_per_second(),
        latency: TOPOLOGY.time(&name("latency"), latency)?.picoseconds(),
        tier: tier.map_or(Ok("link".to_owned()), PyAnyMethods::extract)?,
    })
}
