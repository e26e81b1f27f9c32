//! How the slots of a site reach its nodes.

/// Who may use the slots of a minute.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SlotPolicy {
    /// Whoever comes first: all nodes of a site share a counter, and all sites another.
    ///
    /// It costs a round trip within the site for each new visitor, and one across the world once
    /// the slots of the site are used up. Not too early but for what other sites have reserved and
    /// do not use, and never more than there are slots.
    Counters,
    /// Each node its part, by fewer nodes than there are: by `utilization ^ curve_factor` of them.
    ///
    /// **Unsafe.** While few are active each node may admit nearly everybody, and all nodes together
    /// may admit as many times the slots there are: up to the number of nodes, or
    /// `utilization ^ -curve_factor`, whichever is less. Here for study, because the article tells
    /// of it and of why it was given up.
    Curve {
        /// 0 is [`Even`](Self::Even); the greater, the more is given away far from the limit.
        curve_factor: f64,
    },
    /// Each node its part, rounded down. It costs no round trip, and queues too early: visitors do
    /// not come to nodes in equal parts.
    Even,
}

impl SlotPolicy {
    /// The highest curve factor. Even at half of the limit one node is then worth 256.
    pub const MAX_CURVE_FACTOR: f64 = 8.0;

    /// The share of the nodes that slots are divided by, at a utilization from 0 to 1. The article's
    /// `workerMultiplier`.
    #[must_use]
    pub fn multiplier(self, utilization: f64) -> f64 {
        match self {
            Self::Curve { curve_factor } => utilization.clamp(0.0, 1.0).powf(curve_factor),
            Self::Counters | Self::Even => 1.0,
        }
    }

    /// How many of a pool of `slots` that `nodes` have in common one of them may use by itself.
    ///
    /// Never more than the pool, and without division by less than one node, however few are
    /// active. With [`Counters`](Self::Counters) every node may use all, as far as the counter lets
    /// it.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to slots")]
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
