//! Splitting whole slots among parties that together want more than there are.

use std::cmp::Reverse;

/// Splits `available` slots in proportion to `weights`, down to the last slot.
///
/// Each party gets the integer part of its exact share. The slots that are left go, one each, to
/// the parties with the largest remainders, and among equal remainders to the first. If all weights
/// are 0, no slot is assigned.
///
/// The arithmetic is in integers, so all nodes that start from the same numbers get the same
/// result.
///
/// ```
/// use waiting_room_ledger::model::apportion;
///
/// // Exactly 112.5, 15 and 22.5 slots: the one that is left goes to the first.
/// assert_eq!(apportion(150, &[150, 20, 30]), [113, 15, 22]);
/// ```
///
/// # What it does not promise
///
/// An additional slot may cost a party one of its own: with weights 6, 6 and 2, ten slots are split
/// into 4, 4 and 2, and eleven into 5, 5 and 1 (the Alabama paradox). Divisor methods avoid this,
/// but can deviate from the exact share by more than one slot. Here the exact share matters more.
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
    // Fewer slots are left than there are parties, and their order does not matter.
    let last = usize::try_from(left).unwrap_or(count).min(count - 1);
    by_remainder.select_nth_unstable(last);
    for &(_, at) in &by_remainder[..last] {
        slots[at] += 1;
        left -= 1;
    }
    debug_assert_eq!(left, 0, "every party but one at most has a remainder to round up");
    slots
}

/// Converts a part of the slots, which are a `u32`.
fn whole(part: u128) -> u32 {
    u32::try_from(part).expect("a part of the slots is no greater than all of them")
}
