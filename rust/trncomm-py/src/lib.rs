//! The Python binding: convert, call once, convert back.
