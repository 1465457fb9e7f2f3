//! What a machine adds to its network: costs at the chips, and how messages are cut into packets.

use std::num::NonZeroU32;

use crate::error::TopologyError;
use crate::random::split_mix;
use crate::units::{Bandwidth, Bytes, Time};

/// How often each byte of a message touches the memory of a chip.
///
/// A transfer reads memory at its sender and writes it at its receiver; one that is added to what the receiver holds
/// reads that too (2 reads and 1 write, AWS Neuron SDK documentation, `intranode-collective-comm.rst`). A chip that
/// reduces from a staging buffer instead touches it more: 3 where a message is written there, read back, added and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touches {
    /// At the sender, for every byte sent.
    pub read: u32,
    /// At the receiver, for every byte received.
    pub write: u32,
    /// At the receiver, for every byte that is reduced, besides `write`.
    pub reduce: u32,
}

impl Touches {
    /// One each, as a chip has it that adds while it receives.
    pub const ONE_EACH: Self = Self {
        read: 1,
        write: 1,
        reduce: 1,
    };
}

/// What a message costs at the chips that send and receive it.
///
/// Each cost can be left out by itself: times are zero, rates and limits absent, unless set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    launch: Time,
    completion: Time,
    reduction: Option<Bandwidth>,
    copy: Option<Bandwidth>,
    queues: Option<NonZeroU32>,
    memory: Option<Bandwidth>,
    touches: Touches,
    window: Option<Bytes>,
    most_jitter: Time,
    seed: u64,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self::free()
    }
}

impl Endpoint {
    /// An endpoint that costs nothing.
    pub const fn free() -> Self {
        Self {
            launch: Time::ZERO,
            completion: Time::ZERO,
            reduction: None,
            copy: None,
            queues: None,
            memory: None,
            touches: Touches::ONE_EACH,
            window: None,
            most_jitter: Time::ZERO,
            seed: 0,
        }
    }

    /// With a cost to start a message, paid by the sender before the first packet.
    #[must_use]
    pub const fn with_launch(self, launch: Time) -> Self {
        Self { launch, ..self }
    }

    /// With a cost to complete a message (a semaphore), paid by the receiver after the last packet.
    #[must_use]
    pub const fn with_completion(self, completion: Time) -> Self {
        Self { completion, ..self }
    }

    /// With a rate at which received bytes are reduced; instant without.
    #[must_use]
    pub const fn with_reduction(self, rate: Bandwidth) -> Self {
        Self {
            reduction: Some(rate),
            ..self
        }
    }

    /// With a rate at which bytes are copied within a chip; instant without.
    #[must_use]
    pub const fn with_copy(self, rate: Bandwidth) -> Self {
        Self {
            copy: Some(rate),
            ..self
        }
    }

    /// With so many queues (DMA rings) to send from: the most messages of a rank under way at once, any number without.
    #[must_use]
    pub const fn with_queues(self, queues: NonZeroU32) -> Self {
        Self {
            queues: Some(queues),
            ..self
        }
    }

    /// With a memory (HBM) that every message passes at both ends, as often as `touches` says; as fast as need be without.
    ///
    /// The rate is that of a chip, reads and writes together. b bytes that touch memory t times use it as t · b bytes do.
    #[must_use]
    pub const fn with_memory(self, rate: Bandwidth, touches: Touches) -> Self {
        Self {
            memory: Some(rate),
            touches,
            ..self
        }
    }

    /// With a window: the most bytes of a message that are sent and not yet delivered, any number without.
    ///
    /// A packet larger than the window goes alone. For networks between servers, whose transport limits what is in flight.
    #[must_use]
    pub const fn with_window(self, window: Bytes) -> Self {
        Self {
            window: Some(window),
            ..self
        }
    }

    /// With a launch that takes longer by a random time up to `most`, drawn anew for every message from `seed`.
    #[must_use]
    pub const fn with_jitter(self, most: Time, seed: u64) -> Self {
        Self {
            most_jitter: most,
            seed,
            ..self
        }
    }

    /// The cost to start a message.
    pub const fn launch(&self) -> Time {
        self.launch
    }

    /// The cost to complete a message.
    pub const fn completion(&self) -> Time {
        self.completion
    }

    /// The rate at which received bytes are reduced, if that takes time.
    pub const fn reduction(&self) -> Option<Bandwidth> {
        self.reduction
    }

    /// The rate at which bytes are copied within a chip, if that takes time.
    pub const fn copy(&self) -> Option<Bandwidth> {
        self.copy
    }

    /// The most messages that a rank sends at once, if there is a limit.
    pub const fn queues(&self) -> Option<NonZeroU32> {
        self.queues
    }

    /// The rate of a chip's memory, if it can hold messages up.
    pub const fn memory(&self) -> Option<Bandwidth> {
        self.memory
    }

    /// How often a byte touches memory; means nothing without [`Self::memory`].
    pub const fn touches(&self) -> Touches {
        self.touches
    }

    /// The most bytes of a message in flight, if there is a limit.
    pub const fn window(&self) -> Option<Bytes> {
        self.window
    }

    /// The longest that jitter adds to a launch.
    pub const fn most_jitter(&self) -> Time {
        self.most_jitter
    }

    /// What the draws of jitter begin with.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// What jitter adds to the launch of a rank's message of that number, counted from 0 by the rank.
    ///
    /// Uniform over 0 to [`Self::most_jitter`], and a pure function of seed, rank and number: it doesn't depend on when the
    /// message is launched or on what other ranks do. Each argument is mixed in by a step of `SplitMix64`.
    pub const fn jitter(&self, rank: u32, number: u64) -> Time {
        if self.most_jitter.picoseconds() == 0 {
            return Time::ZERO;
        }
        let random = split_mix(split_mix(split_mix(self.seed) ^ rank as u64) ^ number);
        let choices = self.most_jitter.picoseconds() as u128 + 1;
        // The upper 64 bits of the product fall evenly below `choices`, but for a part in 2^64 of it.
        #[allow(clippy::cast_possible_truncation)] // at most `most_jitter`
        let picoseconds = ((random as u128 * choices) >> 64) as u64;
        Time::from_picoseconds(picoseconds)
    }
}

/// How a message is cut into packets: at most `payload` bytes each, with `header` more on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketFormat {
    payload: Bytes,
    header: Bytes,
}

impl PacketFormat {
    /// A format; an error where the payload is zero or a full packet passes 2⁶⁴ − 1 bytes.
    pub fn new(payload: Bytes, header: Bytes) -> Result<Self, TopologyError> {
        if payload == Bytes::ZERO {
            return Err(TopologyError::Argument {
                argument: "payload",
                expected: "above 0 bytes".to_owned(),
                value: payload.to_string(),
            });
        }
        if payload.get().checked_add(header.get()).is_none() {
            return Err(TopologyError::Argument {
                argument: "header",
                expected: format!("small enough that a packet of {payload} stays below 2^64 bytes"),
                value: header.to_string(),
            });
        }
        Ok(Self { payload, header })
    }

    /// The most bytes of a message in one packet.
    pub const fn payload(self) -> Bytes {
        self.payload
    }

    /// The bytes that each packet adds on the wire.
    pub const fn header(self) -> Bytes {
        self.header
    }
}

/// 4096 bytes without a header.
impl Default for PacketFormat {
    fn default() -> Self {
        Self {
            payload: Bytes::new(4096),
            header: Bytes::ZERO,
        }
    }
}
