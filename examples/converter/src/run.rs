//! One run: a server with or without a gate, clients, and a curve of the CPU.

use std::{
    error::Error,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    thread,
    time::Duration,
};

use tokio::{
    net::TcpListener,
    task::JoinSet,
    time::{MissedTickBehavior, interval, sleep},
    try_join,
};

use crate::{
    app,
    cli::{Plan, Way},
    clients::Clients,
    controller::control,
    cpu::{Meter, Used},
    order::{Order, Overtaking},
    pace::Pace,
    seen::Seen,
};

/// The results of one run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) way: Way,
    pub(crate) curve: Curve,
    pub(crate) seen: Seen,
    pub(crate) let_in: Overtaking,
    pub(crate) finished: Overtaking,
}

/// The CPU usage in consecutive periods of about half a second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curve(pub(crate) Vec<Used>);

/// Runs the server and the clients in one of the ways.
///
/// # Errors
///
/// The gate cannot be configured, the server cannot listen, or the clients have failed.
pub(crate) async fn run(way: Way, plan: &Plan) -> Result<Run, Box<dyn Error>> {
    let cores = cores()?;
    let (pace, gate) = match way {
        Way::Adaptive => (Pace::restless(1), Some(app::gate(1, plan.queue, plan.max_wait)?)),
        Way::Fixed => {
            let pace = Pace::new(plan.cpu, cores);
            (pace, Some(app::gate(pace.limit(), plan.queue, plan.max_wait)?))
        }
        Way::Ungated => (Pace::restless(1), None),
    };
    let order = Arc::new(Order::default());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address: SocketAddr = listener.local_addr()?;

    // The tasks end when this is dropped.
    let mut tasks = JoinSet::new();
    if let (Way::Adaptive, Some(gate)) = (way, &gate) {
        let control = control(gate.handle(), plan.cpu, cores);
        tasks.spawn(async move { control.await.unwrap_or_else(|error| eprintln!("{error}")) });
    }
    let app = app::app(pace, &order, gate);
    tasks.spawn(async move {
        let Err(error) = axum::serve(listener, app).await else { return };
        eprintln!("the server has stopped: {error}");
    });
    let clients = Clients::send(address, plan)?;
    let curve = async { Ok(record(plan.length, cores).await) };
    let (curve, seen) = try_join!(curve, clients.seen())?;
    let let_in = order.of_those_let_in();
    let finished = order.of_those_finished();
    Ok(Run { way, curve, seen, let_in, finished })
}

/// Measures the CPU for the time `length`, once the clients have started.
async fn record(length: Duration, cores: u32) -> Curve {
    sleep(BEGIN).await;
    let mut meter = Meter::start(cores);
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    let mut curve = Curve::default();
    while curve.length() + TICK + BEGIN <= length {
        ticks.tick().await;
        curve.0.push(meter.read());
    }
    curve
}

impl Curve {
    /// The length of the curve.
    pub(crate) fn length(&self) -> Duration {
        self.0.iter().map(|used| used.over).sum()
    }

    /// The mean usage of the server after the start.
    pub(crate) fn server(&self) -> f64 {
        self.mean(|used| used.server)
    }

    /// The mean usage of other processes after the start, if the system reports it.
    pub(crate) fn others(&self) -> Option<f64> {
        let is_told = self.0.iter().all(|used| used.others.is_some());
        is_told.then(|| self.mean(|used| used.others.unwrap_or_default()))
    }

    /// The mean over time, without the start.
    fn mean(&self, part: impl Fn(&Used) -> f64) -> f64 {
        let mut at = Duration::ZERO;
        let mut over = 0.0;
        let mut sum = 0.0;
        for used in &self.0 {
            if at >= START {
                over += used.over.as_secs_f64();
                sum += part(used) * used.over.as_secs_f64();
            }
            at += used.over;
        }
        if over > 0.0 { sum / over } else { 0.0 }
    }
}

/// The number of cores that this process can use.
///
/// # Errors
///
/// The system does not report it.
fn cores() -> Result<u32, Box<dyn Error>> {
    Ok(u32::try_from(thread::available_parallelism()?.get())?)
}

/// The time that the clients need to start.
const BEGIN: Duration = Duration::from_millis(500);

/// The length of one step of the curve.
const TICK: Duration = Duration::from_millis(500);

/// The first part of a curve, which is drawn but not judged: an adaptive limit needs it to
/// converge.
pub(crate) const START: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn used(millis: u64, server: f64) -> Used {
        Used { over: Duration::from_millis(millis), server, others: None }
    }

    #[test]
    fn the_start_is_not_judged_and_longer_steps_count_for_more() {
        let curve = Curve(vec![used(5_000, 10.0), used(1_000, 60.0), used(3_000, 80.0)]);
        assert_eq!(curve.server().to_bits(), 75.0_f64.to_bits());
        assert_eq!(curve.length(), Duration::from_secs(9));
        assert_eq!(curve.others(), None);
        assert_eq!(Curve::default().server().to_bits(), 0.0_f64.to_bits());
    }
}
