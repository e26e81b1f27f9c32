//! The policies of Cloudflare's article, which determine the slots that one node may use, and their
//! rules.

use std::time::Duration;

use waiting_room_core::{ConfigError, Timestamp, error::ConfigErrorKind};

use crate::slots::{Minute, SlotRules};

/// The rules of one node: how the slots of a minute are split among the sites, and how many of them
/// the node may use.
///
/// ```
/// use waiting_room_ledger::model::{NodeRules, SlotPolicy, SlotRules};
///
/// let curve = SlotPolicy::Curve { curve_factor: 9.0 };
/// let error = NodeRules::new(SlotRules::new(200), curve).validate().unwrap_err();
/// assert_eq!(error.to_string(), "curve_factor is 9, expected a number from 0 to 8");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeRules {
    pub(super) slots: SlotRules,
    pub(super) policy: SlotPolicy,
    pub(super) pacing: Pacing,
}

/// The policy that determines how many slots each node of a site may use in a minute.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SlotPolicy {
    /// First come, first served: all nodes of a site draw from one counter, and the nodes of all
    /// sites draw from another.
    ///
    /// It costs a round trip within the site for each new visitor, and a second one across the
    /// world once the site's slots are used up. It never admits more visitors than there are slots.
    /// It queues too early only for slots that are reserved for other sites and not used there.
    Counters,
    /// Each node may use an equal part of the slots, as if there were fewer nodes: the slots are
    /// divided by `nodes × utilization ^ curve_factor`.
    ///
    /// **Unsafe.** While few visitors are active, each node may admit nearly all slots. All nodes
    /// together may admit a multiple of the slots: up to the number of nodes, or
    /// `utilization ^ -curve_factor`, whichever is less. The policy is provided for study, because
    /// the article describes it and explains why it was abandoned.
    Curve {
        /// From 0 to [`MAX_CURVE_FACTOR`](Self::MAX_CURVE_FACTOR). 0 is equivalent to
        /// [`Even`](Self::Even); larger factors assign more slots while utilization is low.
        curve_factor: f64,
    },
    /// Each node may use an equal part of the slots, rounded down.
    ///
    /// It costs no round trip. It queues too early, because visitors do not arrive at all nodes in
    /// equal numbers.
    Even,
}

/// The rate at which the slots of a minute become available.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pacing {
    /// A sixth of the slots is available at once, and the rest evenly over the next 50 seconds.
    ///
    /// All nodes get new slots at the start of a minute. Without pacing, all visitors that have
    /// waited for the minute are admitted at the same moment. The price is that a burst may have to
    /// wait although the minute has slots for it.
    Linear,
    /// All slots are available from the first instant, as in the article.
    #[default]
    None,
}

impl NodeRules {
    /// Creates the rules of a node under this policy, without pacing.
    #[must_use]
    pub const fn new(slots: SlotRules, policy: SlotPolicy) -> Self {
        Self { slots, policy, pacing: Pacing::None }
    }

    /// Sets how the slots of a minute are spread over it. [`Pacing::None`] by default.
    #[must_use]
    pub const fn pacing(mut self, pacing: Pacing) -> Self {
        self.pacing = pacing;
        self
    }

    /// Checks all rules, and returns them unchanged.
    ///
    /// # Errors
    ///
    /// Returns the first rule that is invalid.
    pub fn validate(self) -> Result<Self, ConfigError> {
        self.slots.validate()?;
        if let SlotPolicy::Curve { curve_factor } = self.policy
            && !(0.0..=SlotPolicy::MAX_CURVE_FACTOR).contains(&curve_factor)
        {
            let kind = ConfigErrorKind::Malformed;
            let expected = "a number from 0 to 8";
            return Err(ConfigError::new(kind, "curve_factor", curve_factor, expected));
        }
        Ok(self)
    }
}

impl SlotPolicy {
    /// The largest curve factor. With this factor, 256 nodes count as one node even at half of the
    /// limit.
    pub const MAX_CURVE_FACTOR: f64 = 8.0;

    /// The factor, from 0 to 1, by which the number of nodes is multiplied before slots are divided
    /// by it. It is the article's `workerMultiplier`.
    ///
    /// A `utilization` outside of 0 to 1 is clamped.
    #[must_use]
    pub fn multiplier(self, utilization: f64) -> f64 {
        match self {
            Self::Curve { curve_factor } => utilization.clamp(0.0, 1.0).powf(curve_factor),
            Self::Counters | Self::Even => 1.0,
        }
    }

    /// The number of slots that one node may use by itself, out of `slots` for `nodes` nodes.
    ///
    /// It is never more than `slots`: the divisor is at least one, however low the utilization.
    /// With [`Counters`](Self::Counters), every node may use all slots that the counter grants.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most `slots`")]
    pub fn per_node(self, slots: u32, nodes: u32, utilization: f64) -> u32 {
        match self {
            Self::Counters => slots,
            Self::Curve { .. } => {
                let adapted = f64::from(nodes) * self.multiplier(utilization);
                (f64::from(slots) / adapted.max(1.0)).floor() as u32
            }
            Self::Even => slots / nodes.max(1),
        }
    }
}

impl Pacing {
    /// The number of the minute's `slots` that are open at `now`.
    #[must_use]
    pub fn open(self, slots: u32, minute: Minute, now: Timestamp) -> u32 {
        match self {
            Self::Linear => {
                let into = now.since(minute.start()) + HEAD_START;
                let millis = into.min(Minute::LENGTH).as_millis();
                let open = (u128::from(slots) * millis).div_ceil(Minute::LENGTH.as_millis());
                u32::try_from(open).unwrap_or(slots)
            }
            Self::None => slots,
        }
    }
}

/// The part of the minute that counts as elapsed when it begins: the sixth that is open at once.
const HEAD_START: Duration = Duration::from_secs(10);
