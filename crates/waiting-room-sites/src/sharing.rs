//! How a capacity is shared among parties who want more than there is, in whole slots or in parts.
//!
//! The slots of a minute are split by [`apportion`]. The other two are the algorithms that Doorman, a
//! system for leases of capacity (`youtube/doorman`), is known for: a tree of leases can split what
//! is left by either.

use std::cmp::Reverse;

/// Splits `available` slots in proportion to `weights`, to the last slot.
///
/// Everybody gets the whole part of the exact share. What is left over goes, one slot each, to
/// those whose share was cut the most (the largest remainder), and among equals to the first. With
/// weights that are all 0 nobody gets anything.
///
/// Integers throughout, so that all nodes that start from the same numbers get the same result.
///
/// ```
/// use waiting_room_sites::apportion;
///
/// // 112.5, 15 and 22.5 slots: the half that is left goes to the first.
/// assert_eq!(apportion(150, &[150, 20, 30]), [113, 15, 22]);
/// ```
///
/// # What it does not promise
///
/// One slot more may cost somebody one: with weights 6, 6 and 2, ten slots are 4, 4 and 2, and
/// eleven are 5, 5 and 1 (the Alabama paradox). A rule that divides and rounds would not do this,
/// but strays from the exact share by more than one slot; here the share matters more.
#[must_use]
pub fn apportion(available: u32, weights: &[u64]) -> Vec<u32> {
    let total: u128 = weights.iter().copied().map(u128::from).sum();
    if total == 0 {
        return vec![0; weights.len()];
    }
    let exact = |weight: u64| u128::from(available) * u128::from(weight);
    let mut slots: Vec<u32> = weights.iter().map(|&weight| whole(exact(weight) / total)).collect();
    let mut left = available - slots.iter().sum::<u32>();

    let mut by_remainder: Vec<_> = weights
        .iter()
        .enumerate()
        .map(|(at, &weight)| (Reverse(exact(weight) % total), at))
        .collect();
    let count = by_remainder.len();
    // Fewer are left than there are parties, and only who is among them matters.
    let last = usize::try_from(left).unwrap_or(count).min(count - 1);
    by_remainder.select_nth_unstable(last);
    for &(_, at) in &by_remainder[..last] {
        slots[at] += 1;
        left -= 1;
    }
    debug_assert_eq!(left, 0, "every party but one at most has a remainder to round up");
    slots
}

/// An equal part for everybody, where what some do not need is shared among the others in
/// proportion to what they want beyond their part.
///
/// ```
/// use waiting_room_sites::proportional_share;
///
/// let shares = proportional_share(120.0, &[1_000.0, 50.0, 10.0]);
/// assert!(shares.iter().zip([69.7, 40.3, 10.0]).all(|(share, it)| (share - it).abs() < 0.05));
/// ```
#[must_use]
pub fn proportional_share(capacity: f64, wants: &[f64]) -> Vec<f64> {
    if wants.iter().sum::<f64>() <= capacity {
        return wants.to_vec();
    }
    let equal = capacity / wants.len() as f64;
    let spare: f64 = wants.iter().map(|want| (equal - want).max(0.0)).sum();
    let beyond: f64 = wants.iter().map(|want| (want - equal).max(0.0)).sum();
    let share = |want: f64| {
        if want <= equal { want } else { equal + spare * (want - equal) / beyond }
    };
    wants.iter().map(|&want| share(want)).collect()
}

/// As much as possible for whoever has the least (max-min fairness): nobody gets more than it wants,
/// and who gets less gets as much as anybody.
#[must_use]
pub fn fair_share(capacity: f64, wants: &[f64]) -> Vec<f64> {
    let mut modest_first: Vec<_> = (0..wants.len()).collect();
    modest_first.sort_by(|&one, &other| wants[one].total_cmp(&wants[other]));
    let mut shares = vec![0.0; wants.len()];
    let mut left = capacity;
    for (served, at) in modest_first.into_iter().enumerate() {
        let share = wants[at].min(left / (wants.len() - served) as f64);
        shares[at] = share;
        left -= share;
    }
    shares
}

/// A part of a `u32`.
fn whole(part: u128) -> u32 {
    u32::try_from(part).expect("a part of all slots is no greater than all of them")
}
