//! The simulation compared with known results of queueing theory.

use std::time::Duration;

use waiting_room_sim::seeds;

use super::{
    open_loop::{Span, run},
    policies::{Policy, QUEUE},
    tally::Tally,
    traffic::{Abandonment, CAPACITY, LIMIT, Source, Traffic},
    *,
};
use crate::{bar::Bar, figures::Size, sheet::csv};

fn traffic(percent: u32, patience: Duration) -> Traffic {
    Traffic {
        sources: vec![Source::steady(percent)],
        patience,
        abandonment: Abandonment::Unnoticed,
    }
}

fn span(warm_up: u64, counted: u64) -> Span {
    Span { warm_up: Duration::from_millis(warm_up), counted: Duration::from_millis(counted) }
}

fn tally(policy: &Policy, traffic: &Traffic, span: Span, seed: u64) -> Tally {
    run(&policy.rules, traffic, span, seed).swap_remove(0)
}

fn goodput(policy: &Policy, traffic: &Traffic, span: Span, seed: u64) -> f64 {
    tally(policy, traffic, span, seed).goodput(LIMIT, span.counted)
}

/// The mean wait in seconds in a queue with exponential gaps and service times (A. K. Erlang,
/// 1917).
fn erlang_c(servers: u32, offered: f64, capacity: f64) -> f64 {
    let blocked = (1..=servers).fold(1.0, |blocked, servers| {
        let load = offered * blocked;
        load / (f64::from(servers) + load)
    });
    let rho = offered / f64::from(servers);
    let waits = blocked / (1.0 - rho * (1.0 - blocked));
    waits / (capacity * (1.0 - rho))
}

#[test]
fn the_formula_of_erlang_is_right_for_one_server_and_for_a_case_from_a_table() {
    // With one server, the share of requests that wait equals the load.
    assert!((erlang_c(1, 0.5, 10.0) - 0.5 / 5.0).abs() < 1e-12);
    // With two servers and an offered load of one, one third of the requests wait.
    assert!((erlang_c(2, 1.0, 2.0) - 1.0 / 3.0).abs() < 1e-12);
}

#[test]
fn below_the_capacity_a_queue_waits_as_long_as_erlang_calculated() {
    for percent in [70, 80] {
        let share = f64::from(percent) / 100.0;
        let expected = erlang_c(LIMIT, share * f64::from(LIMIT), CAPACITY.into());
        let traffic = traffic(percent, Duration::from_secs(1));
        let first = seeds(1)[0];
        let means: Vec<_> = (0..16)
            .map(|run| {
                let seed = first.wrapping_add(run);
                let tally = tally(&Policy::unbounded(), &traffic, span(1_000, 6_000), seed);
                let total: Duration = tally.latencies.iter().sum();
                (total.as_secs_f64() - tally.held.as_secs_f64()) / tally.latencies.len() as f64
            })
            .collect();
        let count = means.len() as f64;
        let mean = means.iter().sum::<f64>() / count;
        let variance =
            means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let error = (variance / count).sqrt();
        // With this number of runs, the test fails by chance once in ten thousand.
        assert!((mean - expected).abs() < 5.2 * error, "{mean} ± {error}, not {expected}");
        assert!(error < 0.2 * expected, "{error} of {expected} says nothing");
    }
}

#[test]
fn without_a_bound_the_goodput_falls_to_zero_at_full_load() {
    for seed in seeds(2) {
        let traffic = traffic(200, Duration::from_millis(250));
        let after = |warm_up| goodput(&Policy::unbounded(), &traffic, span(warm_up, 250), seed);
        assert!(after(0) > 80.0, "{}", after(0));
        assert!(after(1_500) < 0.1, "{}", after(1_500));
        let busy = tally(&Policy::unbounded(), &traffic, span(1_500, 1_000), seed).held;
        assert!(busy.as_secs_f64() > 0.97 * f64::from(LIMIT), "{busy:?}");
    }
}

#[test]
fn a_client_whose_disconnect_is_noticed_is_not_served_in_vain() {
    for seed in seeds(2) {
        let unnoticed = traffic(200, Duration::from_millis(250));
        let noticed = Traffic { abandonment: Abandonment::Noticed, ..unnoticed.clone() };
        let waits = |traffic: &Traffic| {
            tally(&Policy::fifo(QUEUE, 500), traffic, span(2_000, 2_000), seed).percentile(0.5)
        };
        // A request that runs came to the front of the queue before its client left. It has some
        // time left, but too little.
        assert!((450.0..520.0).contains(&waits(&unnoticed)), "{}", waits(&unnoticed));
        assert!((245.0..262.0).contains(&waits(&noticed)), "{}", waits(&noticed));
    }
}

#[test]
fn below_the_capacity_all_are_served_and_counted_once() {
    for seed in seeds(2) {
        let traffic = traffic(50, Duration::from_secs(1));
        let tally = tally(&Policy::controlled_delay(), &traffic, span(1_000, 4_000), seed);
        assert_eq!(tally.succeeded, tally.came);
        assert_eq!(tally.useful, tally.latencies.len() as u64);
        // Requests that arrive near the end of the measured time are completed after it, and some
        // that arrived before it are completed within it.
        assert!(tally.useful.abs_diff(tally.came) < 60);
        let goodput = tally.goodput(LIMIT, Duration::from_secs(4));
        assert!((goodput - 50.0).abs() < 5.0, "{goodput}");
    }
}

#[test]
fn the_default_discipline_is_useful_again_soon_after_an_overload_begins() {
    for seed in seeds(2) {
        let traffic = traffic(200, Duration::from_millis(250));
        let after =
            |warm_up| goodput(&Policy::controlled_delay(), &traffic, span(warm_up, 500), seed);
        // The recovery takes one interval, half an interval in which the wait shrinks, and the time
        // to serve the rest of the queue.
        assert!(after(500) < 20.0, "{}", after(500));
        assert!(after(2_000) > 97.0, "{}", after(2_000));
    }
}

#[test]
fn a_quick_study_meets_the_bars_and_names_its_seed_in_every_file_and_picture() {
    let seeds = seeds(1);
    let study = output::run(&seeds, Size::Quick);
    let bars = study.bars;
    // A bar that finds no line would be missing from this list.
    assert_eq!(bars.len(), 6, "{bars:#?}");
    assert!(bars.iter().all(Bar::is_met), "{bars:#?}");
    for sheet in &study.sheets {
        let file = csv(sheet, &seeds).unwrap();
        assert_eq!(file.lines().count(), 1 + sheet.lines.len());
        let named = format!(",{},", seeds[0]);
        assert!(file.lines().skip(1).all(|line| line.contains(&named)), "{file}");
    }
    let pictures = study.pictures;
    assert_eq!(pictures.len(), 5);
    assert!(
        pictures.iter().all(|(_, picture)| picture.to_string().contains(&seeds[0].to_string()))
    );
}

#[test]
fn a_seed_gives_the_same_figures_again_and_another_seed_others() {
    let span = span(200, 500);
    let file = |seeds: &[u64]| csv(&experiments::fairness(seeds, span), &[7, 7, 7]).unwrap();
    assert_eq!(file(&[5, 6, 7]), file(&[5, 6, 7]));
    assert_ne!(file(&[5, 6, 7]), file(&[5, 6, 8]));
}
