//! Whole slots from shares that are none.

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

/// A part of a `u32`.
fn whole(part: u128) -> u32 {
    u32::try_from(part).expect("a part of all slots is no greater than all of them")
}
