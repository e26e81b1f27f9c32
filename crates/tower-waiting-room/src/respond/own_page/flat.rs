//! The page without its conditions.
//!
//! Most pages of a flood, and most pages of a line, are alike except for the values in their slots:
//! the same conditions of the template hold. The steps of the page are therefore followed once for
//! each set of conditions, which leaves a few long texts with slots between them.

use std::{borrow::Cow, mem, sync::OnceLock};

use super::steps::{Guard, Slot, Step};

/// The page in one language.
#[derive(Debug)]
pub(super) struct PageSteps {
    steps: Vec<Step>,
    /// The page in the first cases that occurred.
    pub(super) cases: [OnceLock<(Guards, FlatPage)>; FlatPage::MOST],
}

/// A page in which the same conditions always hold.
#[derive(Clone, Debug)]
pub(super) struct FlatPage {
    /// The slots, each with the constant text before it.
    pub(super) slots: Vec<(String, Slot)>,
    /// The constant text after the last slot.
    pub(super) end: String,
    /// The length of all constant texts, in bytes.
    pub(super) len: usize,
}

/// A set of conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Guards(u16);

impl Guards {
    /// Returns whether the set contains a condition.
    const fn contains(self, guard: Guard) -> bool {
        self.0 & 1 << guard as u16 != 0
    }
}

impl FromIterator<Guard> for Guards {
    fn from_iter<I: IntoIterator<Item = Guard>>(guards: I) -> Self {
        Self(guards.into_iter().fold(0, |set, guard| set | 1 << guard as u16))
    }
}

impl FlatPage {
    /// The number of cases that are kept for each language. Each of them is as large as the page. A
    /// client has little influence on the conditions, and a case that is not kept costs more, but
    /// works too.
    pub(super) const MOST: usize = 8;

    /// Follows the steps of a page.
    fn new(steps: &[Step], holding: Guards) -> Self {
        let (mut flat, mut at) = (Self { slots: Vec::new(), end: String::new(), len: 0 }, 0);
        while let Some(step) = steps.get(at) {
            at += 1;
            match step {
                Step::Text(text) => {
                    flat.end.push_str(text);
                    flat.len += text.len();
                }
                Step::Slot(slot) => flat.slots.push((mem::take(&mut flat.end), *slot)),
                Step::Unless(condition, end) if !holding.contains(*condition) => at = *end,
                Step::Unless(..) => {}
                Step::Jump(end) => at = *end,
            }
        }
        flat
    }
}

impl PageSteps {
    /// Prepares a page with these steps.
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Self { steps, cases: Default::default() }
    }

    /// Returns the page in the case that these conditions hold, and no others.
    pub(super) fn flat(&self, holding: Guards) -> Cow<'_, FlatPage> {
        for case in &self.cases {
            let (of, flat) = case.get_or_init(|| (holding, FlatPage::new(&self.steps, holding)));
            if *of == holding {
                return Cow::Borrowed(flat);
            }
        }
        Cow::Owned(FlatPage::new(&self.steps, holding))
    }
}
