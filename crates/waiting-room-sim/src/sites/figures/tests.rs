//! The figures held against what the article says, with few seeds.

use super::{output::markdown, pictures::pictures, study::*, tables, worlds, worlds::Contender};

/// Those of the documentation: some of the bars are about what is usual.
const SEEDS: [u64; 3] = [1, 2, 3];

#[test]
fn the_policies_do_what_they_are_known_for() {
    let study = Study::run(&SEEDS, Size::Quick);
    let bars = study.bars();
    let missed: Vec<_> = bars.iter().filter(|bar| !bar.is_met()).map(ToString::to_string).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a_study_gives_the_same_page_again() {
    let page = |seeds: &[u64]| markdown(&Study::run(seeds, Size::Quick)).unwrap();
    assert_eq!(page(&[4]), page(&[4]));
    assert_ne!(page(&[4]), page(&[5]));
}

/// V33.
#[test]
fn v33_divided_evenly_queueing_begins_a_fifth_to_a_third_below_the_limit() {
    let world = worlds::ramp(0.5);
    let first = SEEDS.map(|seed| Contender::EVEN.run(&world, seed).util_at_first_queue.unwrap());
    let mean = first.iter().sum::<f64>() / SEEDS.len() as f64;
    assert!((0.65..=0.80).contains(&mean), "{first:?}");
}

#[test]
fn v31_the_line_begins_when_the_room_is_full_and_ends_when_it_is_not() {
    let sheet = tables::two_days(1);
    let at = |column| {
        let figures = sheet.figures(column, |_| true);
        figures.map(|(hour, it)| (hour.parse::<f64>().unwrap(), it.mean())).collect::<Vec<_>>()
    };
    let (active, waiting) = (at("active"), at("waiting"));
    // Nobody waits on the first day, and on the second about noon and in the afternoon.
    let hours: Vec<_> =
        waiting.iter().filter(|(_, count)| *count > 0.0).map(|(hour, _)| *hour).collect();
    assert!(hours.iter().all(|hour| (35.5..37.0).contains(hour) || (38.5..40.5).contains(hour)));
    assert!(hours.iter().any(|hour| *hour < 37.0) && hours.iter().any(|hour| *hour > 38.0));
    for ((_, active), (hour, waiting)) in active.iter().zip(&waiting) {
        assert!(*waiting < 1.0 || *active > 160.0, "{active} active and {waiting} wait at {hour}");
    }
}

#[test]
fn every_table_of_a_full_study_is_on_the_page_or_a_picture() {
    let study = Study::run(&[1], Size::Full);
    let page = markdown(&study).unwrap();
    let drawn: Vec<_> = pictures(&study).into_iter().map(|(name, _)| name).collect();
    for sheet in &study.sheets {
        assert!(page.contains(sheet.title) || drawn.contains(&sheet.name), "{}", sheet.name);
    }
    assert_eq!(drawn.len(), 8);
}
