//! How much memory a schedule takes.

use std::mem::{size_of, size_of_val};

use super::{Chunks, Expr, Instruction, Move, Place, Program, Roles, Schedule};
