//! The cost of a sample in a busy room, for the docs: at most 1 % of a core.

use std::fs;

use waiting_room_core::{Pass, Reason, Ticket, VisitorId};

use super::{House, config, live};
use crate::{Concurrency, Key, Quota, RateLimit};

/// The CPU time of this thread, in nanoseconds. The kernel updates it every few milliseconds.
fn cpu_nanos() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn one_open_page_on_a_busy_room_takes_at_most_a_hundredth_of_a_core() {
    let gates = (0..8).map(|number| Concurrency::limit(8).name(format!("gate-{number}")));
    let config = gates.fold(config(), |config, gate| config.concurrency(gate));
    let limits =
        (0..64).map(|number| RateLimit::new(format!("limit-{number}"), QUOTA, Key::global()));
    let config = limits.fold(config, |config, limit| config.rate_limit(limit));
    let house = House::new(config);
    let telemetry = &house.board.handle.pipeline().telemetry;
    let mut spent = 0;
    let mut largest = 0;
    // Two minutes, of which the second is measured. In each second, there are 270 admissions after
    // a wait, and a refusal for each of 256 reasons.
    for second in 0..120 {
        let now = house.board.now();
        for visitor in 0..270u32 {
            let since = now.before(std::time::Duration::from_millis(u64::from(visitor) * 500));
            let ticket = Ticket::new(VisitorId::new(1), since, since, since);
            let pass = Pass::new(VisitorId::new(1), 0, now, now, now);
            telemetry.admitted(&pass, Some(&ticket));
            telemetry.verdict(&Reason::RefusedRate(format!("limit-{}", visitor % 256).into()));
        }
        let mut body = live::stream(&house).await;
        let before = cpu_nanos();
        house.seconds(1).await;
        let events = live::events(&mut body);
        if second >= 60 {
            spent += cpu_nanos() - before;
            largest = largest.max(events[0].len());
        }
    }
    println!("{} us of CPU time per second, events of {largest} bytes", spent / 60_000);
    assert!(spent < 60 * 10_000_000, "{spent} ns in a minute");
    assert!(largest < 16 * 1_024, "{largest} bytes");
}

const QUOTA: Quota = Quota::per_minute(100);
