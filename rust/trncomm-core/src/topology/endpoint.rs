//! What a machine adds to its network: costs at the chips, and how messages are cut into packets.

use crate::error::TopologyError;
use crate::units::{Bandwidth, Bytes, Time};

/// What a message costs at the chips that send and receive it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    launch: Time,
    completion: Time,
    reduction: Option<Bandwidth>,
    copy: Option<Bandwidth>,
}

impl Endpoint {
    /// An endpoint that costs nothing.
    pub const fn free() -> Self {
        Self {
            launch: Time::ZERO,
            completion: Time::ZERO,
            reduction: None,
            copy: None,
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
