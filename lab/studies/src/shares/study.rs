//! The tables, and the bars that they have to meet.

use std::time::Duration;

use waiting_room_core::room::Shares;

use super::{
    scenarios::{ATTACKS, Attack, CROWDS, Crowd, Group, Mode, VICTIMS, rules},
    world::World,
};
use crate::{
    bar::{Bar, Bound},
    figures::{Figures, Size},
    sheet::{Column, Sheet},
};

/// Runs all scenarios or, in short, those with bars: with smaller crowds, and with the default rules
/// only.
pub(crate) fn run(seeds: &[u64], size: Size) -> Figures {
    let is_full = size == Size::Full;
    let crowds = CROWDS.iter().filter(|crowd| is_full || crowd.has_bar);
    let crowds: Vec<_> = crowds.map(|crowd| (crowd.name.to_owned(), crowd)).collect();
    let head = ("crowds", "Honest crowds in front of 200 slots: how long they wait");
    let crowds =
        Sheet::measure(head, WAITS, seeds, &crowds, |crowd, seed| waits(crowd, size, seed));

    let attacks = ATTACKS.iter().filter(|attack| is_full || attack.within.is_some());
    let attacks: Vec<_> = attacks.map(|attack| (attack.name.to_owned(), attack)).collect();
    let head = ("attacks", "20 people who come while holders have the slots and the line");
    // They last for days and hardly differ.
    let few = &seeds[..seeds.len().min(3)];
    let modes = if is_full { &MODES[..] } else { &MODES[..1] };
    let attacks = Sheet::measure(head, ENTRIES, few, &attacks, |attack, seed| {
        let mut figures: Vec<_> =
            modes.iter().flat_map(|mode| entries(attack, *mode, seed)).collect();
        figures.resize(ENTRIES.len(), f64::NAN);
        figures
    });

    let mut bars = Vec::new();
    for crowd in CROWDS.iter().filter(|crowd| crowd.has_bar) {
        for column in ["all %", "network %"] {
            let is_it = |name: &str| name == crowd.name;
            bars.extend(Bar::of_mean(&crowds, column, is_it, Bound::AtMost(105.0)));
        }
    }
    for attack in &ATTACKS {
        if let Some(minutes) = attack.within {
            let is_it = |name: &str| name == attack.name;
            bars.extend(Bar::of(&attacks, ENTRIES[0].name, is_it, Bound::AtMost(minutes)));
        }
    }
    Figures {
        name: "shares",
        seeds: seeds.to_vec(),
        sheets: vec![crowds, attacks],
        bars,
        pictures: Vec::new(),
    }
}

/// How long a crowd waits with the default rules, and compared with neither shares nor a longest
/// visit: everyone, and those of the network in question.
fn waits(crowd: &Crowd, size: Size, seed: u64) -> Vec<f64> {
    let total: u32 = crowd.groups.iter().map(|group| group.size).sum();
    let part = if size == Size::Full || total < 1_000 { 10 } else { 3 };
    let groups = crowd.groups.iter().map(|group| Group { size: group.size * part / 10, ..*group });
    let groups: Vec<_> = groups.collect();
    let [with, without] = [MODES[0], MODES[3]].map(|mode| run_world(mode, &groups, seed, DAYS));
    let all = |waits: &[Vec<f64>]| mean(&waits.concat());
    let network = |waits: &[Vec<f64>]| mean(waits.last().expect("a network"));
    let slowest = |waits: &[Vec<f64>]| waits.concat().into_iter().fold(0.0, f64::max);
    let compared =
        |of: &dyn Fn(&[Vec<f64>]) -> f64| [of(&with) / 60.0, 100.0 * of(&with) / of(&without)];
    [compared(&all), compared(&network), compared(&slowest)].concat()
}

/// When the last of the people is inside, in minutes after it has come, and how many of them are let
/// in.
fn entries(attack: &Attack, mode: Mode, seed: u64) -> [f64; 2] {
    let longest = if mode.1.is_some() { DAYS } else { Duration::from_secs(12 * 60 * 60) };
    let waits = run_world(mode, &[attack.holders, VICTIMS], seed, longest).swap_remove(1);
    let last = waits.iter().copied().fold(0.0, f64::max) / 60.0;
    let is_over = waits.len() == VICTIMS.size as usize;
    [if is_over { last } else { f64::NAN }, waits.len() as f64]
}

fn run_world(mode: Mode, groups: &[Group], seed: u64, longest: Duration) -> Vec<Vec<f64>> {
    World::new(rules(mode), groups, seed).expect("valid rules").run(longest)
}

fn mean(waits: &[f64]) -> f64 {
    waits.iter().sum::<f64>() / waits.len() as f64
}

/// The default, and the other modes with which it is compared.
const MODES: [Mode; 4] = [
    (Shares::Auto, Some(HOUR)),
    (Shares::Auto, None),
    (Shares::Off, Some(HOUR)),
    (Shares::Off, None),
];

const HOUR: Duration = Duration::from_secs(60 * 60);
/// The longest run with a longest visit.
const DAYS: Duration = Duration::from_secs(60 * 60 * 60);

const WAITS: &[Column] = &[
    Column::new("mean wait min", 1),
    Column::new("all %", 1),
    Column::new("network min", 1),
    Column::new("network %", 1),
    Column::new("slowest min", 1),
    Column::new("slowest %", 1),
];

const ENTRIES: &[Column] = &[
    Column::new("with both: 20 in after min", 0),
    Column::new("with both: in", 0),
    Column::new("shares: 20 in after min", 0),
    Column::new("shares: in", 0),
    Column::new("longest visit: 20 in after min", 0),
    Column::new("longest visit: in", 0),
    Column::new("neither: 20 in after min", 0),
    Column::new("neither: in", 0),
];
