//! How the nodes of a network hold, order and steer packets: properties that only the packet model looks at.

use std::num::NonZeroU8;

use crate::units::Bytes;

/// Which of the packets that wait for an output goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Arbitration {
    /// The one that came first.
    #[default]
    FirstCome,
    /// The one of the next input, in turn, starting after the output's own index.
    RoundRobin,
}

/// What a packet waits behind at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Queueing {
    /// Those that wait for the same output: each input has a queue for every output.
    #[default]
    VirtualOutput,
    /// All those that came by the same input and virtual channel: one that can't go holds up others that could.
    Input,
}

/// When a node begins to send a packet on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Forwarding {
    /// When its last byte has come in.
    #[default]
    StoreAndForward,
    /// When its header has come in (a picosecond of it at least), unless the next link is faster than the last: then as
    /// soon as it can't run dry.
    CutThrough,
}

/// Which of the links towards a destination a packet takes, where several are as good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Always that of the fixed route.
    #[default]
    Fixed,
    /// One that a hash of the message's source and destination picks, so that packets stay in order (ECMP).
    FlowHash {
        /// What the hash begins with.
        seed: u64,
    },
    /// Each in turn, packet by packet.
    Spray,
    /// The one with the fewest bytes of packets in transit waiting for it, packet by packet; of several the one that is
    /// free first, then the lowest output port. A sender's own packets go by whichever link can take them first.
    Adaptive,
}

/// How the nodes of a network hold, order and steer packets.
///
/// Unless set: unlimited buffers, one virtual channel, first come first served, a queue for each output, store and
/// forward, fixed routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fabric {
    buffer: Option<Bytes>,
    virtual_channels: NonZeroU8,
    arbitration: Arbitration,
    queueing: Queueing,
    forwarding: Forwarding,
    policy: Policy,
}

impl Default for Fabric {
    fn default() -> Self {
        Self {
            buffer: None,
            virtual_channels: NonZeroU8::MIN,
            arbitration: Arbitration::default(),
            queueing: Queueing::default(),
            forwarding: Forwarding::default(),
            policy: Policy::default(),
        }
    }
}

impl Fabric {
    /// With a receive buffer of so many bytes at the end of every link, for each of its virtual channels.
    ///
    /// A packet leaves only if the buffer has room for all of it. The packet model refuses one that can't hold a full packet.
    #[must_use]
    pub const fn with_buffer(self, buffer: Bytes) -> Self {
        Self {
            buffer: Some(buffer),
            ..self
        }
    }

    /// With so many virtual channels on every link: packets of different channels don't wait for one another's buffers.
    #[must_use]
    pub const fn with_virtual_channels(self, virtual_channels: NonZeroU8) -> Self {
        Self {
            virtual_channels,
            ..self
        }
    }

    /// With another rule for which packet goes first.
    #[must_use]
    pub const fn with_arbitration(self, arbitration: Arbitration) -> Self {
        Self { arbitration, ..self }
    }

    /// With other queues.
    #[must_use]
    pub const fn with_queueing(self, queueing: Queueing) -> Self {
        Self { queueing, ..self }
    }

    /// With another moment at which a packet is sent on.
    #[must_use]
    pub const fn with_forwarding(self, forwarding: Forwarding) -> Self {
        Self { forwarding, ..self }
    }

    /// With another choice among links that are as good.
    #[must_use]
    pub const fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// The bytes that wait at the end of a link, for each virtual channel, if there is a limit.
    pub const fn buffer(&self) -> Option<Bytes> {
        self.buffer
    }

    /// The virtual channels of every link, at least 1.
    pub const fn virtual_channels(&self) -> u8 {
        self.virtual_channels.get()
    }

    /// Which packet goes first.
    pub const fn arbitration(&self) -> Arbitration {
        self.arbitration
    }

    /// What a packet waits behind.
    pub const fn queueing(&self) -> Queueing {
        self.queueing
    }

    /// When a packet is sent on.
    pub const fn forwarding(&self) -> Forwarding {
        self.forwarding
    }

    /// How a packet's links are picked.
    pub const fn policy(&self) -> Policy {
        self.policy
    }
}
