//! The plans of visitors, and how far each has come.

use std::time::Duration;

use rand::SeedableRng;
use rand_pcg::Pcg64;
use waiting_room_sim::{
    VisitorNo,
    plan::{Memory, Pace, Plan},
};

use crate::sites::{
    clock::{SECOND, from_seconds},
    scenario::ShopCrowd,
};

/// All visitors with plans. Empty if the visitors of the world have none.
#[derive(Debug, Default)]
pub(super) struct Shoppers {
    all: Vec<Shopper>,
    /// The plan of each visitor, by the number of the visitor in the world.
    by_number: Vec<Option<u32>>,
}

/// A plan, and how far it has come.
#[derive(Debug)]
pub(super) struct Shopper {
    pub(super) plan: Plan,
    /// The number of pages that it has already spent time on, or is spending time on.
    pub(super) pages: usize,
    /// The time at which it requests the next page, if it is inside and has not seen the last one.
    pub(super) next_page: Option<u32>,
    /// The time until which it is willing to wait, while it is not inside.
    pub(super) until: Option<u32>,
    /// The number of answers that have asked it to wait.
    pub(super) waits: u32,
    /// The time of its last request.
    pub(super) asked: u32,
    /// The number by which the witness knows it.
    pub(super) number: VisitorNo,
    /// Whether it believes that it has a pass.
    pub(super) has_pass: bool,
    pub(super) has_been_in: bool,
    pub(super) is_aside: bool,
}

impl Shoppers {
    /// The longest absence of a visitor that waits. Places are kept for longer.
    const LONGEST_ABSENCE: Duration = Duration::from_secs(48);

    /// The plans of a crowd, which are the same as those of the `shop` example with this seed.
    pub(super) fn plans(crowd: &ShopCrowd, seed: u64) -> Vec<Plan> {
        let over = Duration::from_secs_f64(crowd.over);
        let pace = Pace { over, longest_absence: Self::LONGEST_ABSENCE };
        Plan::crowd(crowd.visitors, &pace, &mut Pcg64::seed_from_u64(seed))
    }

    pub(super) fn new(plans: Vec<Plan>) -> Self {
        let numbers = (0..).map(VisitorNo);
        let all = numbers.zip(plans).map(|(number, plan)| Shopper::new(number, plan)).collect();
        Self { all, by_number: Vec::new() }
    }

    /// Records that this visitor follows a plan.
    pub(super) fn attach(&mut self, who: u32, plan: u32) {
        let index = who as usize;
        if index >= self.by_number.len() {
            self.by_number.resize(index + 1, None);
        }
        self.by_number[index] = Some(plan);
    }

    /// Returns whether this visitor has a plan.
    pub(super) fn has(&self, who: u32) -> bool {
        self.number(who).is_some()
    }

    /// Returns whether the visitor with this plan has no cookies.
    pub(super) fn forgets(&self, plan: u32) -> bool {
        self.all[plan as usize].plan.memory == Memory::Forgets
    }

    fn number(&self, who: u32) -> Option<u32> {
        self.by_number.get(who as usize).copied().flatten()
    }

    /// The visitor with a plan that this one is.
    pub(super) fn of(&mut self, who: u32) -> Option<&mut Shopper> {
        let number = self.number(who)?;
        self.all.get_mut(number as usize)
    }

    /// Records that the visitor ceases to be the one with this plan.
    pub(super) fn detach(&mut self, who: u32) -> Option<u32> {
        self.by_number.get_mut(who as usize).and_then(Option::take)
    }
}

impl Shopper {
    const fn new(number: VisitorNo, plan: Plan) -> Self {
        Self {
            number,
            plan,
            pages: 0,
            next_page: None,
            until: None,
            waits: 0,
            asked: 0,
            has_pass: false,
            has_been_in: false,
            is_aside: false,
        }
    }

    /// Chooses the time of the next page.
    pub(super) fn plan_page(&mut self, now: u32) -> Option<u32> {
        let thought = self.plan.thoughts.get(self.pages);
        self.pages += 1;
        self.next_page = thought.map(|pause| now.saturating_add(millis(*pause)));
        self.next_page
    }
}

/// A duration in milliseconds.
pub(super) fn millis(duration: Duration) -> u32 {
    let seconds = duration.as_secs_f64();
    if seconds >= f64::from(u32::MAX / SECOND) { u32::MAX } else { from_seconds(seconds) }
}
