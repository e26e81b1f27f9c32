//! All groups of cases, by their names.

use anyhow::{Context, Result};

use crate::{answers, bars, case::Group, gate, limits, memory, pass, paths, worst};

/// Returns the group of this name.
pub(crate) fn group(name: &str) -> Result<Group> {
    let found = GROUPS.iter().find(|group| group.name() == name).copied();
    found.with_context(|| {
        let names: Vec<&str> = GROUPS.iter().map(|group| group.name()).collect();
        format!("the groups are {}", names.join(", "))
    })
}

/// All groups, in the order of their tables.
pub(crate) const GROUPS: &[Group] = &[
    pass::BEHIND_AXUM,
    pass::WITHOUT_AXUM,
    paths::PATHS,
    limits::ONE,
    limits::THOUSAND,
    limits::MILLION,
    limits::UNSEEN,
    limits::TWO_THREADS,
    limits::ALGORITHMS,
    limits::ADMITTED,
    limits::REFUSED,
    gate::PERMITS,
    gate::HANDED_ON,
    gate::ON_TWO_THREADS,
    gate::ADMITTED,
    gate::REFUSED,
    answers::ALONE,
    answers::BEHIND_AXUM,
    bars::TOGETHER,
    memory::MEMORY,
    worst::WORST,
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_name_is_that_of_one_group_and_of_one_case_in_it() {
        let names = |group: &Group| group.cases().iter().map(|case| case.name).collect::<Vec<_>>();
        let all = GROUPS.iter().map(|group| group.name()).collect();
        for names in GROUPS.iter().map(names).chain([all]) {
            assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{names:?}");
        }
    }
}
