//! How many unused slots a site may keep.

/// The reserve of a site with `demand` out of `total_demand`, when `unused` slots are free or in
/// reserve anywhere in the world.
///
/// Half of what is unused is split by demand, which is the share of a data centre in the article's
/// traffic history; the other half stays with the global ledger and is the article's Anywhere. As
/// the limit comes nearer, reserves shrink geometrically. When there are fewer than two slots for a
/// site it has no reserve, and each admission asks the global ledger: one central counter.
pub(super) fn reserve(demand: u64, total_demand: u128, unused: u128) -> u64 {
    let exact = u128::from(demand).saturating_mul(unused);
    let reserve = exact.checked_div(2 * total_demand).unwrap_or(0);
    u64::try_from(reserve).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_what_is_unused_follows_the_demand() {
        assert_eq!(reserve(20, 50, 150), 30);
        assert_eq!(reserve(30, 50, 150), 45);
        assert_eq!(reserve(0, 50, 150), 0);
    }

    #[test]
    fn near_the_limit_there_is_no_reserve() {
        // Four sites with the same demand.
        assert_eq!([16, 8, 7, 1, 0].map(|unused| reserve(25, 100, unused)), [2, 1, 0, 0, 0]);
    }

    #[test]
    fn a_world_that_nobody_comes_to_has_no_reserves() {
        assert_eq!(reserve(0, 0, 150), 0);
    }

    #[test]
    fn no_demand_is_too_great() {
        assert_eq!(reserve(u64::MAX, u64::MAX.into(), u64::MAX.into()), u64::MAX / 2);
    }
}
