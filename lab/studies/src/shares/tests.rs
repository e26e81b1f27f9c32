//! The study in short, with a fresh seed.

use waiting_room_sim::seeds;

use super::run;
use crate::{bar::Bar, figures::Size};

#[test]
fn honest_crowds_wait_no_longer_than_without_shares_and_people_come_through_an_attack() {
    let study = run(&seeds(1), Size::Quick);
    assert_eq!(study.bars.len(), 12, "{:#?}", study.bars);
    study.bars.iter().for_each(|bar| eprintln!("{bar}"));
    assert!(study.bars.iter().all(Bar::is_met), "{:#?}", study.bars);
}
