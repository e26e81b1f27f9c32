use std::time::Duration;

use clap::Parser;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use waiting_room_sim::{
    plan::{Ending, Memory, Pace, Plan},
    seeds,
};

use super::{run, schedule::Schedule};
use crate::cli::{Cli, CrowdOrder, Mode};

fn order(line: &str) -> (Cli, CrowdOrder) {
    let cli = Cli::parse_from(line.split_whitespace());
    match cli.mode() {
        Mode::Crowd(order) => (cli, order),
        Mode::Serve => panic!("{line} asks for a crowd"),
    }
}

fn schedule(line: &str) -> Schedule {
    let (cli, order) = order(line);
    Schedule::new(&order, &cli.room.for_crowd(false)).unwrap()
}

#[test]
fn a_seed_repeats_a_crowd_and_another_makes_another() {
    for seed in seeds(5) {
        for line in ["--crowd 300 --duration 60", "--replay data/worldcup98-1998-06-30.csv"] {
            let of = |seed| schedule(&format!("shop {line} --seed {seed}"));
            assert_eq!(of(seed), of(seed));
            assert_ne!(of(seed).plans, of(seed.wrapping_add(1)).plans);
        }
    }
}

#[test]
fn a_crowd_comes_in_its_time_and_has_all_sorts_in_it() {
    for seed in seeds(5) {
        let Schedule { plans, over, .. } = schedule(&format!("shop --crowd 2000 --seed {seed}"));
        assert_eq!(plans.len(), 2_000);
        assert!(plans.is_sorted_by_key(|plan| plan.arrival));
        assert!(plans.iter().all(|plan| plan.arrival < over && !plan.thoughts.is_empty()));
        let share = |of: &dyn Fn(&Plan) -> bool| plans.iter().filter(|plan| of(plan)).count();
        assert!((20..=200).contains(&share(&|plan| plan.memory == Memory::Forgets)));
        assert!((600..=1_400).contains(&share(&|plan| plan.ending == Ending::Checkout)));
        assert!((100..=400).contains(&share(&|plan| plan.absence.is_some())));
        assert!((200..=600).contains(&share(&|plan| plan.patience.is_some())));
    }
}

/// A simulated world has the same visitors as a real crowd with the same seed.
#[test]
fn a_crowd_is_the_one_that_a_simulated_world_draws() {
    for seed in seeds(3) {
        let of = schedule(&format!(
            "shop --crowd 200 --duration 60 --place-retention 60s --seed {seed}"
        ));
        let pace = Pace {
            over: Duration::from_secs(60),
            longest_absence: Duration::from_secs(48),
            has_streams: false,
        };
        assert_eq!(of.plans, Plan::crowd(200, &pace, &mut Pcg64::seed_from_u64(seed)));
    }
}

#[test]
fn the_peak_of_a_replay_is_three_times_the_allowance() {
    let replay = schedule("shop --replay data/worldcup98-1998-06-30.csv --seed 1");
    assert_eq!(replay.over.as_secs(), 180);
    assert!(replay.story.contains("up to 600 a minute"), "{}", replay.story);
    assert!(replay.plans.len() <= 1_800, "{}", replay.plans.len());
}

#[test]
fn a_crowd_above_the_bound_is_refused() {
    let (cli, order) = order("shop --crowd 501 --max-visitors 500");
    let error = Schedule::new(&order, &cli.room).unwrap_err().to_string();
    let expected = "the crowd would be 501 visitors, expected at most 500; --max-visitors raises \
                    the bound";
    assert_eq!(error, expected);
}

/// Runs over real sockets, so in real time: it takes about five seconds.
#[tokio::test(flavor = "multi_thread")]
async fn thirty_visitors_find_every_promise_kept() {
    let seed = seeds(1)[0];
    let line =
        format!("shop --crowd 30 --duration 2 --drain 3 --limit 8 --session 1 --seed {seed}");
    let (cli, order) = order(&line);
    let outcome = run(&cli.room, order).await.unwrap();
    assert!(outcome.is_kept(), "{outcome:?}");
    let report = outcome.report;
    assert_eq!((report.visitors, report.seed), (30, Some(seed)));
    assert_eq!(report.admitted + report.refused + report.abandoned, 30);
    assert!(report.admitted > 8 && report.max_active >= 4, "{report:?}");
}

/// Runs over real sockets, so in real time: it takes about twenty seconds. How long slots stand idle
/// and when positions are shown depends on the machine, so neither is judged here.
#[tokio::test(flavor = "multi_thread")]
async fn sixty_visitors_of_a_sale_are_admitted_in_the_published_order() {
    let seed = seeds(1)[0];
    let line = format!(
        "shop --event --crowd 60 --prequeue 10 --duration 13 --drain 5 --limit 8 --session 1 --seed \
         {seed}"
    );
    let (cli, order) = order(&line);
    let outcome = run(&cli.room, order).await.unwrap();
    assert!(outcome.report.violations().is_empty(), "{outcome:?}");
    let event = outcome.report.event.unwrap();
    let sale = outcome.sale.unwrap();
    assert!(event.entrants >= 20 && outcome.report.admitted >= 8, "{event:?}");
    assert_eq!((event.event_early, event.draw_mismatches), (0, 0));
    assert_eq!((sale.draw.recomputed, sale.draw.mismatches), (sale.draw.entrants, 0));
    assert!(sale.bias.is_fair() && sale.idle.total > 0.0, "{sale:?}");
}
