use std::time::Duration;

use rand::SeedableRng;
use rand_pcg::Pcg64;

use super::Pressed;

#[test]
fn the_busiest_minute_has_the_scaled_demand_and_the_shape_stays() {
    let over = Duration::from_secs(180);
    let counts: Vec<u32> = (0..60).map(|minute| if minute == 59 { 1_000 } else { 500 }).collect();
    let pressed = Pressed::new(&counts, over, 600.0);
    // Each count is compressed to three seconds, so a minute has twenty counts. The last twenty add
    // up to 10 500.
    assert_eq!((pressed.peak_per_minute().round(), pressed.over()), (600.0, over));
    assert_eq!(pressed.visitors(), (30_500_u32 * 600).div_ceil(10_500));
}

#[test]
fn a_lone_spike_is_a_minute_too() {
    let mut counts = [0; 60];
    counts[30] = 1;
    let pressed = Pressed::new(&counts, Duration::from_secs(180), 600.0);
    assert_eq!((pressed.visitors(), pressed.peak_per_minute().round()), (600, 600.0));
}

#[test]
fn rounding_loses_no_arrivals() {
    let over = Duration::from_secs(180);
    // One third of a visitor in each part.
    let pressed = Pressed::new(&[1; 60], over, 60.0 / 9.0);
    assert_eq!(pressed.visitors(), 20);
    assert_eq!(Pressed::new(&[9], over, 600.0).visitors(), 1_800);
    assert_eq!(Pressed::new(&[u32::MAX; 60], over, 600.0).visitors(), 1_800);
}

#[test]
fn arrivals_keep_to_their_parts_and_follow_from_the_seed() {
    let over = Duration::from_secs(4);
    let pressed = Pressed::new(&[1, 0, 2, 0], over, 450.0);
    let arrivals = |seed| pressed.arrivals(&mut Pcg64::seed_from_u64(seed));
    for seed in waiting_room_sim::seeds(5) {
        let times = arrivals(seed);
        let parts: Vec<u64> = times.iter().map(Duration::as_secs).collect();
        assert_eq!(parts, [[0; 10].as_slice(), [2; 20].as_slice()].concat());
        assert!(times.is_sorted());
        assert_eq!(times, arrivals(seed));
        assert_ne!(times, arrivals(seed.wrapping_add(1)));
    }
}
