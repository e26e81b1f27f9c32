//! What a room says to a visitor, and the two proofs it hands out.

use std::{borrow::Cow, fmt, num::NonZeroU32, sync::Arc, time::Duration};

use crate::{Timestamp, room::estimate::WaitEstimate};

/// Who a visitor is: 128 random bits, drawn by the caller at the first touch.
///
/// The room never draws chance itself. Jitter and lottery ranks are derived from the id, so ids
/// must be unpredictable and must not be shown to the client.
///
/// Of the bits, 32 may say [which network](Self::of_network) the visitor came from; then the other 96
/// are random. They are neither the first, which break ties in the line, nor the last, so that visitors of
/// one network are spread like any others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VisitorId(u128);

impl VisitorId {
    /// The visitor with these random bits.
    #[must_use]
    pub const fn new(bits: u128) -> Self {
        Self(bits)
    }

    /// The same visitor as one of this network, which bits 64 to 95 stand for; of none that is known
    /// with `None`.
    ///
    /// The number is to be a hash with a secret, so that nobody can choose networks that share one.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use waiting_room_core::VisitorId;
    ///
    /// let network = NonZeroU32::new(0xc000_0201);
    /// assert_eq!(VisitorId::new(u128::MAX).of_network(network).network(), network);
    /// assert_eq!(VisitorId::new(u128::MAX).of_network(None).network(), None);
    /// ```
    #[must_use]
    pub const fn of_network(self, network: Option<NonZeroU32>) -> Self {
        let network = match network {
            Some(network) => network.get(),
            None => 0,
        };
        Self(self.0 & !(Self::NETWORK << Self::SHIFT) | (network as u128) << Self::SHIFT)
    }

    /// The network that the visitor came from, if it is known.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "these bits are meant")]
    pub const fn network(self) -> Option<NonZeroU32> {
        NonZeroU32::new((self.0 >> Self::SHIFT) as u32)
    }

    /// The bits, to be sealed.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// Sixty-four well mixed bits of this id and `salt`: the same for the same arguments.
    #[must_use]
    pub fn draw(self, salt: u64) -> u64 {
        let bytes = self.0.to_le_bytes();
        let (low, high) = bytes.split_at(8);
        let half =
            |part: &[u8]| part.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        mix(half(low) ^ mix(half(high) ^ mix(salt)))
    }

    const NETWORK: u128 = u32::MAX as u128;
    const SHIFT: u32 = 64;
}

impl fmt::Debug for VisitorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}…", self.draw(0) >> 32)
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Proof that a visitor was let in.
///
/// The room itself knows the visitor by [`id`](Self::id); the rest lets a pass be checked, and the
/// session be taken up again after a restart, without asking the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pass {
    /// Whose pass it is.
    pub id: VisitorId,
    /// The minute of arrival, as a count of minutes since the Unix epoch.
    pub bucket: u32,
    /// When the visitor was let in.
    pub accepted_at: Timestamp,
    /// When the pass was last issued or renewed.
    pub last_check_in: Timestamp,
    /// From when on the pass is void. The slot is held exactly as long.
    pub expires_at: Timestamp,
}

impl Pass {
    /// A pass with these contents, as issued or as unsealed.
    #[must_use]
    pub const fn new(
        id: VisitorId,
        bucket: u32,
        accepted_at: Timestamp,
        last_check_in: Timestamp,
        expires_at: Timestamp,
    ) -> Self {
        Self { id, bucket, accepted_at, last_check_in, expires_at }
    }
}

/// Proof of a place in line.
///
/// Everything needed to resume the place is in it, so a place survives a restart of the room.
/// A first ticket ([`placed`](Self::placed) is false) has no place yet; presenting it makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ticket {
    /// Whose ticket it is.
    pub id: VisitorId,
    /// When the visitor first asked. With the id, this is the order of the line.
    pub first_seen: Timestamp,
    /// When this ticket was issued.
    pub last_check_in: Timestamp,
    /// The earliest time at which asking again can change anything.
    pub next_check_in: Timestamp,
    /// The position last shown, counted from 1; `None` where chance decides the order. Before the
    /// first check-in it is the one at which a newcomer would have stood.
    pub shown_position: Option<u32>,
    /// Whether the shown position is approximate: before the first check-in, where it is estimated,
    /// and when visitors have come back to places ahead.
    pub is_approximate: bool,
    /// How long the wait was expected to be when this ticket was issued, if that was known.
    pub wait: Option<WaitEstimate>,
    /// Whether the visitor has shown that it returns its ticket, and so holds a place.
    pub placed: bool,
}

impl Ticket {
    /// A first ticket: no place, no position, nothing known about the wait.
    #[must_use]
    pub const fn new(
        id: VisitorId,
        first_seen: Timestamp,
        last_check_in: Timestamp,
        next_check_in: Timestamp,
    ) -> Self {
        Self {
            id,
            first_seen,
            last_check_in,
            next_check_in,
            shown_position: None,
            is_approximate: false,
            wait: None,
            placed: false,
        }
    }

    /// Shows a position, which is exact unless it is `estimated`.
    ///
    /// A position may rise, when visitors who were away come back to their places. It is then said
    /// to be approximate, and so a rise of up to a sixteenth need not be shown. What was shown to a
    /// newcomer without a place binds nothing.
    pub fn show(&mut self, position: u32, estimated: bool) {
        let shown = self.shown_position.filter(|_| self.placed);
        self.is_approximate = estimated || shown.is_some_and(|shown| position > shown);
        let is_near = |shown: &u32| position > *shown && position - shown <= shown / 16;
        self.shown_position = Some(shown.filter(is_near).unwrap_or(position));
    }

    /// The minute of arrival, as a count of minutes since the Unix epoch.
    #[must_use]
    pub fn bucket(&self) -> u32 {
        bucket(self.first_seen)
    }

    /// How long to wait from `now` before asking again.
    #[must_use]
    pub fn retry_after(&self, now: Timestamp) -> Duration {
        self.next_check_in.since(now)
    }

    /// Whether asking at `now` is too early to change anything.
    #[must_use]
    pub fn is_early(&self, now: Timestamp) -> bool {
        now < self.next_check_in
    }
}

/// The minute in which `at` falls, as a count of minutes since the Unix epoch.
pub(crate) fn bucket(at: Timestamp) -> u32 {
    u32::try_from(at.as_secs() / 60).unwrap_or(u32::MAX)
}

/// What the room says to a visitor who asks for a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a visitor gets in, waits or goes: there is no fourth")]
pub enum Verdict {
    /// The visitor is active from now on.
    Admit {
        /// The proof of it.
        pass: Pass,
        /// Why.
        reason: Reason,
    },
    /// The visitor gets nothing; asking again before `retry_after` is useless.
    Refuse {
        /// The ticket that keeps the order of arrival, for a visitor who had one.
        ticket: Option<Ticket>,
        /// Why.
        reason: Reason,
        /// How long to stay away; `None` if coming back is pointless.
        retry_after: Option<Duration>,
    },
    /// The visitor waits, and asks again with this ticket.
    Wait {
        /// The proof of the place, or the first ticket that leads to one.
        ticket: Ticket,
        /// Why.
        reason: Reason,
    },
}

impl Verdict {
    /// Why the room said so.
    #[must_use]
    pub const fn reason(&self) -> &Reason {
        match self {
            Self::Admit { reason, .. }
            | Self::Refuse { reason, .. }
            | Self::Wait { reason, .. } => reason,
        }
    }
}

/// What became of a request to renew a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a session goes on or is over")]
pub enum Renewal {
    /// The session is over: it was ended, or it lapsed before the renewal arrived.
    End,
    /// The session goes on under this pass.
    Renew(Pass),
}

/// Why a stage said what it said.
///
/// The [`Display`](fmt::Display) form is stable: it stands in logs, metrics and the debug header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// `admitted:limits`: there is no room, and every rate limit allowed it.
    AdmittedLimits,
    /// `admitted:local_share`: while a store was away, out of this node's share of its limits.
    AdmittedLocalShare,
    /// `admitted:pass`: a valid pass.
    AdmittedPass,
    /// `admitted:passthrough`: the room counts, but does not limit.
    AdmittedPassthrough,
    /// `admitted:slot`: a slot and a place in the minute were free, and nobody was ahead.
    AdmittedSlot,
    /// `admitted:unlimited`: there is no room, and the store of the limits could not decide.
    AdmittedUnlimited,
    /// `bypass:<rule>`: the request does not concern the room.
    Bypass(Cow<'static, str>),
    /// `prequeue`: the event has not begun.
    Prequeue,
    /// `queue_all`: the operator lets nobody in.
    QueueAll,
    /// `queued:active_limit`: every slot is taken.
    QueuedActiveLimit,
    /// `queued:behind_others`: what is free belongs to visitors who stand before.
    QueuedBehindOthers,
    /// `queued:cookie_test`: a slot is free, for a client that returns its cookie.
    QueuedCookieTest,
    /// `queued:early`: asked before its time; answered from the ticket alone.
    QueuedEarly,
    /// `queued:network_full`: the network of the client has as many places as it may, by a number that is
    /// [only counted](crate::PlacesPerNetwork::Shadow); it gets this one too.
    QueuedNetworkFull,
    /// `queued:rate`: the last minute took as many new visitors as it may.
    QueuedRate,
    /// `queued:recovery`: after a restart, until every pass from before is known or void.
    QueuedRecovery,
    /// `queued:store_busy`: the store answers, but this node has more to ask than it decides in time.
    QueuedStoreBusy,
    /// `refused:address_unknown`: the server does not tell the layer the address of the client, which
    /// a limit or a gate needs.
    RefusedAddressUnknown,
    /// `refused:challenged`: a newcomer was answered by the closure of the application that may ask it
    /// for a proof first.
    RefusedChallenged,
    /// `refused:draining`: the line is served, nobody joins it.
    RefusedDraining,
    /// `refused:gate_cancelled`: the client left while its request waited for a permit.
    RefusedGateCancelled,
    /// `refused:gate_drained`: the gate is being emptied.
    RefusedGateDrained,
    /// `refused:gate_full`: too many requests run and wait already.
    RefusedGateFull,
    /// `refused:gate_shed`: under overload, the request would wait or has waited for too long.
    RefusedGateShed,
    /// `refused:gate_timeout`: the request waited too long for a permit.
    RefusedGateTimeout,
    /// `refused:gate_unknown`: there is a gate for each value of a key that the request does not have.
    RefusedGateUnknown,
    /// `refused:key_missing:<policy>`: the client has left out what a rate limit tells clients apart
    /// by.
    RefusedKeyMissing(Arc<str>),
    /// `refused:limits_busy`: the store of the limits answers, but this node has more to ask than it
    /// decides in time.
    RefusedLimitsBusy,
    /// `refused:limits_unavailable`: the store of the limits could not decide.
    RefusedLimitsUnavailable,
    /// `refused:line_full`: the line has as many places as it may.
    RefusedLineFull,
    /// `refused:network_full`: the network of the client has as many places in the line as one
    /// [may have](crate::PlacesPerNetwork).
    RefusedNetworkFull,
    /// `refused:rate:<policy>`: a rate limit is exhausted.
    RefusedRate(Arc<str>),
    /// `refused:reject`: the room is full, and its method is not to keep a line.
    RefusedReject,
    /// `refused:too_often`: a ticket is shown more often than any client that obeys shows it.
    RefusedTooOften,
    /// `store_unavailable`: the store could not decide.
    StoreUnavailable,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bypass(rule) => return write!(f, "bypass:{rule}"),
            Self::RefusedKeyMissing(policy) => return write!(f, "refused:key_missing:{policy}"),
            Self::RefusedRate(policy) => return write!(f, "refused:rate:{policy}"),
            Self::AdmittedLimits => "admitted:limits",
            Self::AdmittedLocalShare => "admitted:local_share",
            Self::AdmittedPass => "admitted:pass",
            Self::AdmittedPassthrough => "admitted:passthrough",
            Self::AdmittedSlot => "admitted:slot",
            Self::AdmittedUnlimited => "admitted:unlimited",
            Self::Prequeue => "prequeue",
            Self::QueueAll => "queue_all",
            Self::QueuedActiveLimit => "queued:active_limit",
            Self::QueuedBehindOthers => "queued:behind_others",
            Self::QueuedCookieTest => "queued:cookie_test",
            Self::QueuedEarly => "queued:early",
            Self::QueuedNetworkFull => "queued:network_full",
            Self::QueuedRate => "queued:rate",
            Self::QueuedRecovery => "queued:recovery",
            Self::QueuedStoreBusy => "queued:store_busy",
            Self::RefusedAddressUnknown => "refused:address_unknown",
            Self::RefusedChallenged => "refused:challenged",
            Self::RefusedDraining => "refused:draining",
            Self::RefusedGateCancelled => "refused:gate_cancelled",
            Self::RefusedGateDrained => "refused:gate_drained",
            Self::RefusedGateFull => "refused:gate_full",
            Self::RefusedGateShed => "refused:gate_shed",
            Self::RefusedGateTimeout => "refused:gate_timeout",
            Self::RefusedGateUnknown => "refused:gate_unknown",
            Self::RefusedLimitsBusy => "refused:limits_busy",
            Self::RefusedLimitsUnavailable => "refused:limits_unavailable",
            Self::RefusedLineFull => "refused:line_full",
            Self::RefusedNetworkFull => "refused:network_full",
            Self::RefusedReject => "refused:reject",
            Self::RefusedTooOften => "refused:too_often",
            Self::StoreUnavailable => "store_unavailable",
        })
    }
}
