//! The figures compared with the statements of the article. The bars are checked by
//! `waiting-room-studies figures --quick`, which takes seconds there and would take minutes here.

use super::{
    delays,
    pictures::pictures,
    study::of_escrow,
    tables,
    worlds::{self, Contender},
};
use crate::{
    figures::Size,
    sheet::{Column, Sheet},
};

#[test]
fn v33_divided_evenly_queueing_begins_a_fifth_to_a_third_below_the_limit() {
    let world = worlds::ramp(0.5);
    let seeds = [1, 2, 3];
    let first = seeds.map(|seed| Contender::EVEN.run(&world, seed).util_at_first_queue.unwrap());
    let mean = first.iter().sum::<f64>() / 3.0;
    assert!((0.65..=0.80).contains(&mean), "{first:?}");
}

#[test]
fn a_table_that_was_measured_and_has_a_picture_is_drawn() {
    let sheets = [tables::spike(&[1], Size::Quick), escrow(0.0)];
    let drawn: Vec<_> = pictures(&[1], &sheets).into_iter().map(|(name, _)| name).collect();
    assert_eq!(drawn, ["spike"]);
}

#[test]
fn a_visitor_queued_too_early_misses_a_bar() {
    let is_met = |early| of_escrow(&escrow(early)).iter().all(|bar| bar.is_met());
    assert!(is_met(0.0));
    assert!(!is_met(1.0));
}

/// The delay of snapshots has no effect on the ledgers, which send messages of their own.
#[test]
fn ledgers_that_are_farther_away_are_not_the_same_world() {
    let sheet = delays::delays(&[1]);
    let escrow = sheet.figures("of the ideal ledger %", |name| name.starts_with("Escrow, round"));
    let mut admitted: Vec<_> = escrow.map(|(_, figure)| figure.mean().to_bits()).collect();
    admitted.dedup();
    assert!(admitted.len() > 2, "{sheet:?}");
}

#[test]
fn the_escrow_does_not_depend_on_the_age_of_the_news() {
    let report = |delay| {
        let world = worlds::with_delay(worlds::spike(), delay);
        format!("{:?}", Contender::ESCROW.run(&world, 1))
    };
    assert_eq!(report(2.0), report(120.0));
}

#[test]
fn a_crowd_before_the_turn_of_a_minute_is_met_by_the_slots_of_two() {
    let sheet = delays::turn(&[1], Size::Quick);
    let of =
        |column, line| sheet.figures(column, move |name| name == line).next().unwrap().1.mean();
    let crowd = "Counters, 30000 a minute";
    assert!(of("ratio to 1 + N·staleness/60/L", crowd) > 1.5, "{sheet:?}");
    assert!((0.9..=1.0).contains(&of("ratio to the bound", crowd)), "{sheet:?}");
    assert!(of("highest active %", "Escrow, 30000 a minute") <= 100.0, "{sheet:?}");
}

/// A table in which the escrow made this number of visitors wait too early.
fn escrow(early: f64) -> Sheet {
    let columns = &[
        Column { name: "too early", decimals: 0 },
        Column { name: "highest active %", decimals: 1 },
    ];
    let lines = [("Escrow".to_owned(), vec![vec![early, 100.0]])];
    Sheet::new(("dead-site", "One of eight sites is gone"), columns, lines.into_iter())
}
