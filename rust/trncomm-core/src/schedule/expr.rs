//! Integer expressions over a rank's place and the variables of the loops around an instruction.

use std::fmt;
use std::ops;

use super::shape::{Place, Shape};

/// How deep loops may nest in a stream.
pub const MAX_DEPTH: usize = 4;

/// An integer computed from where it is asked: the rank, its coordinates, and loop variables.
///
/// Arithmetic wraps at 64 bits; a value out of range is found where it is used as a rank or a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A number.
    Const(i64),
    /// The variable of the loop at this nesting depth (0 is the outermost), counting from 0.
    Var(usize),
    /// The number of the rank at a place.
    RankAt(Box<Place>),
    /// The coordinate along an axis of the rank at a place.
    CoordinateAt(Box<Place>, usize),
    /// Two values combined.
    Binary(Op, Box<Expr>, Box<Expr>),
}

/// How two values combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// The product.
    Mul,
    /// The quotient, rounded down. The divisor must be a positive constant.
    Div,
    /// The remainder, never negative. The divisor must be a positive constant.
    Mod,
    /// Exclusive or of the bits.
    Xor,
    /// The smaller.
    Min,
    /// The larger.
    Max,
}

/// Where an expression is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The shape of the ranks.
    pub shape: &'a Shape,
    /// The rank.
    pub rank: u32,
    /// The values of the loop variables, outermost first.
    pub vars: [u64; MAX_DEPTH],
}

impl Expr {
    /// The rank's own number.
    pub fn rank() -> Self {
        Self::RankAt(Box::new(Place::here()))
    }

    /// The rank's own coordinate along `axis`.
    pub fn coordinate(axis: usize) -> Self {
        Self::CoordinateAt(Box::new(Place::here()), axis)
    }

    /// The number of the rank at `place`.
    pub fn rank_at(place: Place) -> Self {
        Self::RankAt(Box::new(place))
    }

    /// The coordinate along `axis` of the rank at `place`.
    pub fn coordinate_at(place: Place, axis: usize) -> Self {
        Self::CoordinateAt(Box::new(place), axis)
    }

    /// The variable of the loop at nesting depth `depth`.
    pub fn var(depth: usize) -> Self {
        Self::Var(depth)
    }

    /// The smaller of two values.
    #[must_use]
    pub fn min(self, other: impl Into<Self>) -> Self {
        Self::binary(Op::Min, self, other.into())
    }

    /// The larger of two values.
    #[must_use]
    pub fn max(self, other: impl Into<Self>) -> Self {
        Self::binary(Op::Max, self, other.into())
    }

    /// The value as a constant, where it is one.
    pub fn constant(&self) -> Option<i64> {
        match self {
            Self::Const(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn binary(op: Op, left: Self, right: Self) -> Self {
        match (&left, &right) {
            (Self::Const(a), Self::Const(b)) if *b > 0 || !matches!(op, Op::Div | Op::Mod) => {
                Self::Const(op.apply(*a, *b))
            }
            (_, Self::Const(0)) if matches!(op, Op::Add | Op::Sub | Op::Xor) => left,
            (_, Self::Const(1)) if matches!(op, Op::Mul | Op::Div) => left,
            (Self::Const(0), _) if op == Op::Add => right,
            (Self::Const(1), _) if op == Op::Mul => right,
            _ => Self::Binary(op, Box::new(left), Box::new(right)),
        }
    }

    /// The value at `site`.
    pub fn value(&self, site: &Site<'_>) -> i64 {
        match self {
            Self::Const(value) => *value,
            Self::Var(depth) => site.vars[*depth].cast_signed(),
            Self::RankAt(place) => place.find(site),
            Self::CoordinateAt(place, axis) => match u32::try_from(place.find(site)) {
                Ok(rank) => i64::from(site.shape.coordinate(rank, *axis)),
                Err(_) => i64::MIN,
            },
            Self::Binary(op, left, right) => op.apply(left.value(site), right.value(site)),
        }
    }
}

impl Op {
    fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::Mul => a.wrapping_mul(b),
            Self::Div => a.div_euclid(b),
            Self::Mod => a.rem_euclid(b),
            Self::Xor => a ^ b,
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

impl From<i64> for Expr {
    fn from(value: i64) -> Self {
        Self::Const(value)
    }
}

impl From<i32> for Expr {
    fn from(value: i32) -> Self {
        Self::Const(value.into())
    }
}

impl Expr {
    /// A count of chunks as a number.
    pub(crate) fn from_count(count: u64) -> Self {
        Self::Const(i64::try_from(count).expect("counts of ranks and chunks stay below 2^63"))
    }
}

impl From<usize> for Expr {
    fn from(value: usize) -> Self {
        Self::Const(i64::try_from(value).expect("counts of ranks and chunks stay below 2^63"))
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $op:ident) => {
        impl<T: Into<Expr>> ops::$trait<T> for Expr {
            type Output = Expr;

            fn $method(self, other: T) -> Expr {
                Expr::binary(Op::$op, self, other.into())
            }
        }
    };
}

operator!(Add, add, Add);
operator!(Sub, sub, Sub);
operator!(Mul, mul, Mul);
operator!(Div, div, Div);
operator!(Rem, rem, Mod);
operator!(BitXor, bitxor, Xor);

/// Prints as one would write it: `(r - 1 - i) mod 8`, with `r` the rank, `x0`, `x1`, … its coordinates and
/// `i`, `j`, `k`, `l` the loop variables.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Const(value) => write!(f, "{value}"),
            Self::Var(depth) => f.write_str(["i", "j", "k", "l"].get(*depth).copied().unwrap_or("?")),
            Self::RankAt(place) => write!(f, "{place}"),
            Self::CoordinateAt(place, axis) if place.moves().is_empty() => write!(f, "x{axis}"),
            Self::CoordinateAt(place, axis) => write!(f, "x{axis}({place})"),
            Self::Binary(op @ (Op::Min | Op::Max), left, right) => {
                write!(f, "{}({left}, {right})", if *op == Op::Min { "min" } else { "max" })
            }
            Self::Binary(op, left, right) => {
                let sign = match op {
                    Op::Add => "+",
                    Op::Sub => "-",
                    Op::Mul => "*",
                    Op::Div => "div",
                    Op::Mod => "mod",
                    Op::Xor => "xor",
                    Op::Min | Op::Max => unreachable!("printed above"),
                };
                // Sums associate to the left, so only products and right operands need brackets.
                match (op, left.as_ref()) {
                    (Op::Add | Op::Sub, _) => write!(f, "{left} {sign} ")?,
                    (_, Self::Binary(..)) => write!(f, "({left}) {sign} ")?,
                    _ => write!(f, "{left} {sign} ")?,
                }
                match right.as_ref() {
                    Self::Binary(..) => write!(f, "({right})"),
                    Self::Const(value) if *value < 0 => write!(f, "({value})"),
                    _ => write!(f, "{right}"),
                }
            }
        }
    }
}

/// Prints the rank that a place names: `r`, `r+1`, `r[1]-1` (axis 1), `r^4`, `#7`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use super::shape::Move;

        f.write_str("r")?;
        for step in self.moves() {
            match step {
                Move::Shift { axis, by } => match by {
                    Expr::Const(by) => write!(f, "<{axis}:{by:+}>")?,
                    by => write!(f, "<{axis}:+({by})>")?,
                },
                Move::Xor { axis, mask } => write!(f, "<{axis}:^{mask}>")?,
                Move::Set { axis, to } => write!(f, "<{axis}:={to}>")?,
                Move::Rank(number) => write!(f, "<={number}>")?,
            }
        }
        Ok(())
    }
}
