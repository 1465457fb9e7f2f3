//! A network without time: every message arrives at once, in the order of posting.

use super::network::{Advance, Due, MessageId, Network, Traffic};
use crate::error::SimulationError;
use crate::ids::RankId;
use crate::units::{Bytes, Time};

/// The network on which schedules are proved.
#[derive(Debug, Default)]
pub struct Instant {
    due: Vec<Due>,
    events: u64,
}

impl Network for Instant {
    fn post(&mut self, _: Time, message: MessageId, _: RankId, _: RankId, _: Bytes) -> Result<(), SimulationError> {
        self.due.push(Due::Delivered(message));
        Ok(())
    }

    fn wake(&mut self, _: Time, token: u32) {
        self.due.push(Due::Woken(token));
    }

    fn advance(&mut self, due: &mut Vec<Due>) -> Advance {
        if self.due.is_empty() {
            return Advance::Idle;
        }
        self.events += self.due.len() as u64;
        due.append(&mut self.due);
        Advance::Due(Time::ZERO)
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            events: self.events,
            ..Traffic::default()
        }
    }
}
