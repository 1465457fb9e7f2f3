//! What an algorithm can be told: typed values by name.

use std::fmt;

use crate::error::{AlgorithmError, hint};

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// Whole numbers in a row, such as extents.
    Counts(Vec<u64>),
    /// One of several names.
    Choice(String),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Count(value)
    }
}

impl From<Vec<u64>> for Value {
    fn from(values: Vec<u64>) -> Self {
        Self::Counts(values)
    }
}

impl From<&str> for Value {
    fn from(name: &str) -> Self {
        Self::Choice(name.to_owned())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(value) => write!(f, "{value}"),
            Self::Counts(values) => write!(f, "{values:?}"),
            Self::Choice(name) => write!(f, "{name:?}"),
        }
    }
}

/// Something that an algorithm can be told.
#[derive(Debug)]
pub struct Parameter {
    /// The name, in snake case.
    pub name: &'static str,
    /// One line: what it sets.
    pub summary: &'static str,
    /// What it may be.
    pub kind: Kind,
}

/// What a parameter may be, and what it is where nothing is said.
#[derive(Debug)]
pub enum Kind {
    /// A whole number within bounds.
    Count {
        /// The value where none is given.
        default: u64,
        /// The least value.
        least: u64,
        /// The greatest value.
        most: u64,
    },
    /// Whole numbers above zero; none where nothing is said.
    Counts,
    /// One of these names; the first where nothing is said.
    Choice(&'static [&'static str]),
    /// The name of another algorithm, which does a part of the work.
    Algorithm {
        /// The name where none is given.
        default: &'static str,
    },
}

impl Parameter {
    /// A parameter that is a whole number from `least` to `most`.
    pub const fn count(name: &'static str, summary: &'static str, default: u64, least: u64, most: u64) -> Self {
        let kind = Kind::Count { default, least, most };
        Self { name, summary, kind }
    }

    /// A parameter that is a list of whole numbers.
    pub const fn counts(name: &'static str, summary: &'static str) -> Self {
        let kind = Kind::Counts;
        Self { name, summary, kind }
    }

    /// A parameter that is one of `names`, the first unless said otherwise.
    pub const fn choice(name: &'static str, summary: &'static str, names: &'static [&'static str]) -> Self {
        let kind = Kind::Choice(names);
        Self { name, summary, kind }
    }

    /// A parameter that names an algorithm.
    pub const fn algorithm(name: &'static str, summary: &'static str, default: &'static str) -> Self {
        let kind = Kind::Algorithm { default };
        Self { name, summary, kind }
    }

    /// The value where none is given.
    pub fn default(&self) -> Value {
        match self.kind {
            Kind::Count { default, .. } => default.into(),
            Kind::Counts => Value::Counts(Vec::new()),
            Kind::Choice(names) => names[0].into(),
            Kind::Algorithm { default } => default.into(),
        }
    }

    /// The value in the form that algorithms ask for, or what is wrong with it.
    pub(super) fn accept(&self, value: Value) -> Result<Value, AlgorithmError> {
        let expected = match (&self.kind, value) {
            (Kind::Count { least, most, .. }, Value::Count(value)) if (*least..=*most).contains(&value) => {
                return Ok(value.into());
            }
            (Kind::Counts, Value::Counts(values)) if !values.contains(&0) => return Ok(values.into()),
            (Kind::Counts, Value::Count(value)) if value > 0 => return Ok(vec![value].into()),
            // Which algorithms fit depends on the part of the work, so that is found out when it is built.
            (Kind::Algorithm { .. }, Value::Choice(name)) => return Ok(Value::Choice(name)),
            (Kind::Choice(names), Value::Choice(name)) => {
                let wanted = name.to_ascii_lowercase().replace('-', "_");
                let Some(&known) = names.iter().find(|&&known| known == wanted) else {
                    return Err(AlgorithmError::Unknown {
                        kind: self.name,
                        hint: hint(&wanted, names.iter().copied()),
                        name,
                    });
                };
                return Ok(known.into());
            }
            (Kind::Count { least, most, .. }, value) => (format!("a whole number from {least} to {most}"), value),
            (Kind::Counts, value) => ("a list of whole numbers above 0".to_owned(), value),
            (Kind::Choice(names), value) => (format!("one of {}", names.join(", ")), value),
            (Kind::Algorithm { .. }, value) => ("the name of an algorithm".to_owned(), value),
        };
        Err(AlgorithmError::Parameter {
            parameter: self.name.to_owned(),
            expected: expected.0,
            value: expected.1.to_string(),
        })
    }
}
