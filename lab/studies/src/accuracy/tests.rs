//! A small study, and the meaning of its figures.

use std::time::Duration;

use waiting_room_core::{
    Quota, Timestamp,
    rate::{
        Alignment, Refusals,
        meters::{FixedWindow, Gcra, Meter, SlidingCounter, SlidingLog},
    },
};
pub(super) use waiting_room_sim::seeds;

use super::{
    exact::Truth,
    output::{csv, table},
    row::Row,
    traffic::START,
    trial::{Tally, Used, Wrong, try_out},
    *,
};

/// All kinds of traffic, each with about this number of requests. The crowd follows an hour of
/// rising traffic.
pub(super) fn small_traffic(requests: u64) -> Vec<Traffic> {
    let crowd = Crowd::new(&(0..60).collect());
    Traffic::all(crowd).into_iter().map(|traffic| traffic.scaled_to(requests)).collect()
}

fn small_study(seed: u64, threads: usize) -> Study {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| Study::run(seed, &small_traffic(60_000)))
}

fn rows_of<'a>(study: &'a Study, algorithm: &str) -> Vec<&'a Row> {
    study.rows().iter().filter(|row| row.algorithm == algorithm).collect()
}

/// Runs `meter` with requests at these seconds of the study.
fn tally<M: Meter>(meter: &M, used: Used, quota: &Quota, seconds: &[f64]) -> Tally {
    let arrivals: Vec<_> = seconds.iter().map(|&at| START + Duration::from_secs_f64(at)).collect();
    try_out(meter, used, quota, &arrivals, &Truth::of(&arrivals, quota.limit(), quota.window()))
}

fn evenly(count: u32, from: f64, to: f64) -> impl Iterator<Item = f64> {
    (0..count).map(move |index| from + (to - from) * f64::from(index) / f64::from(count))
}

#[test]
fn the_sliding_log_is_never_wrong_and_the_fixed_window_often_is() {
    for seed in seeds(2) {
        let study = small_study(seed, 2);
        assert!(study.log_is_exact());
        for row in rows_of(&study, "fixed window") {
            // A fixed window forgets earlier than the exact log, and never later.
            assert_eq!(row.open_wrongly_refused.unwrap_or(0) + row.closed_wrongly_refused, 0);
            // With so few sources, all Pareto rates may be below the limit.
            if ["lognormal rates", "near the limit", "a real crowd"].contains(&row.traffic) {
                assert!(row.open_wrongly_allowed.unwrap() > 0, "{row:?}");
                assert!(row.closed_wrongly_allowed > 0, "{row:?}");
            }
        }
    }
}

#[test]
fn all_algorithms_see_the_same_requests_of_all_sources() {
    let study = small_study(3, 2);
    for rows in study.rows()[..24].chunks(4) {
        let exactly = rows[3].admitted;
        assert!(rows.iter().all(|row| row.admitted_exactly == Some(exactly)));
        for row in rows {
            assert_eq!((row.traffic, row.requests), (rows[0].traffic, rows[0].requests));
            let above = row.admitted as f64 / exactly as f64 - 1.0;
            assert!((row.admitted_above_exact.unwrap() - above).abs() < 1e-12, "{row:?}");
        }
    }
}

#[test]
fn near_the_limit_the_counter_is_a_few_times_better_than_the_fixed_window() {
    for seed in seeds(2) {
        let study = small_study(seed, 2);
        let wrong = |algorithm| rows_of(&study, algorithm)[4].open_wrong_share.unwrap();
        assert!(wrong("sliding counter") > 0.05);
        assert!(wrong("sliding counter") < wrong("fixed window") / 3.0);
    }
}

#[test]
fn a_seed_gives_the_same_numbers_on_any_number_of_threads() {
    let alone = small_study(5, 1);
    assert_eq!(alone.rows(), small_study(5, 2).rows());
    assert_eq!(alone.rows(), small_study(5, 7).rows());
    let others = small_study(6, 2);
    assert!(
        (0..alone.rows().len() - 4)
            .all(|index| { alone.rows()[index].requests != others.rows()[index].requests })
    );
}

#[test]
fn the_worst_case_of_an_adversary_in_one_window_is_known() {
    let study = small_study(1, 1);
    let worst = |algorithm| rows_of(&study, algorithm).last().unwrap().most_in_any_window;
    assert_eq!(worst("fixed window"), 200);
    // The weighted part is rounded down, which admits the two hundredth request.
    assert_eq!(worst("sliding counter"), 200);
    assert_eq!(worst("GCRA"), 199);
    assert_eq!(worst("sliding log"), 100);
}

#[test]
fn the_example_of_cloudflare_is_an_estimate_of_49_and_a_half() {
    let estimate = |times: u64| {
        let counter = SlidingCounter::new(&Quota::per_minute(50 * times));
        let mut state = Default::default();
        counter.spend(&mut state, 42 * times, Timestamp::from_secs(60));
        counter.spend(&mut state, 18 * times, Timestamp::from_secs(120));
        counter.used(&state, Timestamp::from_secs(135))
    };
    assert_eq!((estimate(1), estimate(2)), (49, 99));

    let quota = Quota::per_minute(50);
    let seconds: Vec<_> = evenly(42, 0.0, 60.0).chain(evenly(18, 60.0, 75.0)).collect();
    let tally = tally(&SlidingCounter::new(&quota), Used::Count, &quota, &seconds);
    assert_eq!((tally.open.total(), tally.admitted), (0, 60));
}

#[test]
fn the_boundary_of_a_fixed_window_is_counted_as_a_person_would() {
    let quota = Quota::per_minute(50);
    let seconds: Vec<_> = evenly(50, 59.0, 60.0).chain(evenly(60, 60.0, 61.0)).collect();
    let window = FixedWindow::new(&quota, Alignment::Epoch);
    let tally = tally(&window, Used::Count, &quota, &seconds);
    assert_eq!(tally.open, Wrong { refused: 0, allowed: 50 });
    assert_eq!(tally.closed, Wrong { refused: 0, allowed: 50 });
    assert_eq!((tally.admitted, tally.admitted_exactly, tally.most), (100, 50, 100));
    // The n-th request after the boundary is counted as n instead of n + 50.
    let error: f64 = (1..=60).map(|n| 50.0 / f64::from(n + 50)).sum();
    assert!((tally.rate_error - error).abs() < 1e-9);
}

#[test]
fn in_the_open_loop_gcra_refuses_a_source_for_earlier_refusals() {
    let quota = Quota::per_minute(50);
    let seconds: Vec<_> = [0.0; 150].into_iter().chain([61.0]).collect();
    let tally = tally(&Gcra::new(&quota), Used::Other, &quota, &seconds);
    assert_eq!(tally.open, Wrong { refused: 1, allowed: 0 });
    assert_eq!((tally.closed.total(), tally.admitted), (0, 51));
}

#[test]
fn a_log_that_is_off_by_one_is_detected() {
    let quota = Quota::per_minute(50);
    let window = Duration::from_secs(60);
    let seconds: Vec<_> = evenly(4_000, 0.0, 2_400.0).collect();
    let judged =
        |off: &Quota| tally(&SlidingLog::new(off, Refusals::Ignore), Used::Other, &quota, &seconds);
    assert_eq!((judged(&quota).open.total(), judged(&quota).closed.total()), (0, 0));

    let one_more = judged(&Quota::per_minute(51));
    assert!(one_more.closed.allowed > 0 && one_more.most == 51);
    let one_less = judged(&Quota::per_minute(49));
    assert!(one_less.closed.refused > 0 && one_less.admitted < one_less.admitted_exactly);
    // There is a request every 600 ms, so a window that is a microsecond longer contains one more.
    let longer = judged(&Quota::new(50, window + MICROSECOND));
    assert!(longer.closed.refused > 0 && longer.closed.allowed == 0);
    let shorter = judged(&Quota::new(50, window - 601 * MILLISECOND));
    assert!(shorter.closed.allowed > 0 && shorter.open.refused == 0);
}

#[test]
fn between_two_of_its_ticks_the_log_errs_on_the_safe_side() {
    let quota = Quota::new(1, Duration::from_secs(60));
    let log = SlidingLog::new(&quota, Refusals::Ignore);
    let arrivals =
        [0, 60_000_000_000, 60_000_000_150].map(|at| START + Duration::from_nanos(at + 1));
    let truth = Truth::of(&arrivals, quota.limit(), quota.window());
    let tally = try_out(&log, Used::Other, &quota, &arrivals, &truth);
    assert_eq!(tally.closed, Wrong { refused: 1, allowed: 0 });
    assert_eq!((tally.admitted, tally.most), (2, 1));
}

#[test]
fn the_seed_is_in_every_row_of_the_file() {
    let study = small_study(271_828, 2);
    let rows = study.rows().len();
    let file = csv(&study).unwrap();
    assert_eq!(file.lines().count(), 1 + rows);
    assert!(file.lines().skip(1).all(|line| line.starts_with("271828,")));
    assert_eq!(table(&study).row_iter().count(), rows);
}

const MICROSECOND: Duration = Duration::from_micros(1);
const MILLISECOND: Duration = Duration::from_millis(1);
