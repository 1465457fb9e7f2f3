//! All-reduce by recursive doubling: exchanges of the whole buffer with the ranks 1, 2, 4, … away.
//!
//! In step k a rank exchanges its partial sum with r xor 2^k and adds what it hears: ⌊log₂ N⌋ steps, and two more where
//! N is no power of two (see [`Fold`]). A partial sum may still be leaving when the partner's comes in, so every step
//! stores it in a place of its own and adds the old sum there. One step takes L + S/B and the time to add S bytes.

use super::Request;
use super::recursive::{DOUBLING, Fold, Part};
use crate::error::AlgorithmError;
use crate::schedule::{Buffer, Chunks, Combine, Expr, Instruction, Place, Program, Schedule};

pub(super) fn build(request: &Request<'_>) -> Result<Schedule, AlgorithmError> {
    let fold = Fold::new(request.ranks());
    let input = || Chunks::one(Buffer::Input, 0);
    let output = || Chunks::one(Buffer::Output, 0);
    let program_of = |part: &Part| {
        let number = Expr::rank();
        Program::single(match part {
            Part::Alone => exchanges(&fold, &(number - fold.extra), input()),
            Part::OddOfPair => {
                let partner = || Place::shift(0, -1);
                let both = || Chunks::one(Buffer::Scratch, 0);
                let mut body = vec![Instruction::receive(partner(), both()), add(input(), both())];
                body.extend(exchanges(&fold, &((number - 1) / 2), both()));
                body.push(Instruction::send(partner(), output()));
                body
            }
            Part::EvenOfPair => {
                let partner = || Place::shift(0, 1);
                vec![
                    Instruction::send(partner(), input()),
                    Instruction::receive(partner(), output()),
                ]
            }
        })
    };
    Ok(Schedule::by_role(
        DOUBLING.name,
        request.out_of_place(),
        request.line()?,
        1,
        u64::from(fold.active.ilog2()),
        |rank| fold.part_of(rank),
        program_of,
    )?)
}

/// The exchanges of active rank `x`, which starts with the sum in `sum` and ends with it in the output.
fn exchanges(fold: &Fold, x: &Expr, mut sum: Chunks) -> Vec<Instruction> {
    let steps = fold.active.ilog2();
    let mut body = Vec::new();
    for bit in 0..steps {
        // Scratch 0 may hold the sum of a pair of ranks.
        let next = if bit + 1 == steps {
            Chunks::one(Buffer::Output, 0)
        } else {
            Chunks::one(Buffer::Scratch, i64::from(bit) + 1)
        };
        let partner = || fold.across(x, 1 << bit);
        body.push(Instruction::send(partner(), sum.clone()));
        body.push(Instruction::receive(partner(), next.clone()));
        body.push(add(sum, next.clone()));
        sum = next;
    }
    if steps == 0 {
        body.push(Instruction::copy(sum, Chunks::one(Buffer::Output, 0)));
    }
    body
}

fn add(from: Chunks, to: Chunks) -> Instruction {
    Instruction::Copy {
        from,
        to,
        combine: Combine::Reduce,
    }
}
