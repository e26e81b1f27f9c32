//! The algorithms of Doorman (`youtube/doorman`), a system for leases of capacity: two ways to share a
//! capacity, in fractions, among parties that together want more than it. They are here to compare them
//! with the slots of a minute, which are split in whole slots.

/// Gives each party an equal part, and shares what some parties do not need among the others, in
/// proportion to what they want beyond their part.
pub(super) fn proportional_share(capacity: f64, wants: &[f64]) -> Vec<f64> {
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

/// Maximizes the smallest share (max-min fairness): no party gets more than it wants, and each
/// party that gets less than it wants gets at least as much as any other.
pub(super) fn fair_share(capacity: f64, wants: &[f64]) -> Vec<f64> {
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
