//! Charts of the CPU over time, one run below the other.
//!
//! The background is transparent and the colours are of medium lightness, to be readable on white
//! and on black.

use svg::{
    Document,
    node::element::{Line, Path, Polyline, Text, path::Data},
};

use crate::{cpu::Used, report::Report, run::Run};

/// Draws all runs.
pub(crate) fn plot(report: &Report) -> Document {
    let lengths = report.runs.iter().map(|run| run.curve.length().as_secs_f64());
    let seconds = lengths.fold(1.0, f64::max);
    let height = TOP + BAND * report.runs.len() as f64 + 12.0;
    let mut picture = Document::new()
        .set("viewBox", format!("0 0 {WIDTH} {height}"))
        .set("font-family", "system-ui, sans-serif")
        .set("font-size", 13)
        .set("fill", INK)
        .add(text("CPU of a converter, all cores together", 16.0, 26.0).set("font-size", 18))
        .add(text(
            &format!("{} clients, each asks again when it is served", report.clients),
            16.0,
            46.0,
        ))
        .add(rule(560.0, 42.0, 590.0, 42.0).set("stroke", SERVER).set("stroke-opacity", 1))
        .add(text("the server", 596.0, 46.0))
        .add(rule(690.0, 42.0, 720.0, 42.0).set("stroke", OTHERS).set("stroke-opacity", 1))
        .add(text("everything else on the machine", 726.0, 46.0));
    let mut top = TOP;
    for run in &report.runs {
        let band = Band { top, seconds };
        picture = with_run(with_axes(picture, &band, report.cpu), &band, run);
        top += BAND;
    }
    picture
}

/// The area of one run.
struct Band {
    top: f64,
    seconds: f64,
}

impl Band {
    fn x(&self, seconds: f64) -> f64 {
        round(LEFT + (RIGHT - LEFT) * seconds / self.seconds)
    }

    fn y(&self, percent: f64) -> f64 {
        round(self.top + HEIGHT * (1.0 - percent.min(100.0) / 100.0))
    }

    /// The corners of a step function: the line is level over each period.
    fn steps(&self, curve: &[Used], part: impl Fn(&Used) -> f64) -> Vec<(f64, f64)> {
        let mut at = 0.0;
        let corners = curve.iter().flat_map(|used| {
            let from = at;
            let y = self.y(part(used));
            at += used.over.as_secs_f64();
            [(self.x(from), y), (self.x(at), y)]
        });
        corners.collect()
    }
}

/// Draws lines at 0, at the requested share and at 100 %, and the labels of the time axis.
fn with_axes(mut picture: Document, band: &Band, cpu: u32) -> Document {
    for percent in [0, cpu, 100] {
        let y = band.y(percent.into());
        let line = rule(LEFT, y, RIGHT, y);
        let line = if percent == cpu { line.set("stroke-dasharray", "5 4") } else { line };
        let label = text(&format!("{percent} %"), LEFT - 8.0, y + 4.5);
        picture = picture.add(line).add(label.set("text-anchor", "end"));
    }
    let every = if band.seconds > 120.0 { 60_u32 } else { 5 };
    for seconds in (0..).map(|step| f64::from(step * every)).take_while(|at| *at <= band.seconds) {
        let label = text(&format!("{seconds} s"), band.x(seconds), band.top + HEIGHT + 17.0);
        picture = picture.add(label.set("text-anchor", "middle").set("font-size", 11));
    }
    picture
}

/// Draws the curve of a run, and its figures.
fn with_run(mut picture: Document, band: &Band, run: &Run) -> Document {
    let server = band.steps(&run.curve.0, |used| used.server);
    if let (Some(&(first, _)), Some(&(last, _))) = (server.first(), server.last()) {
        let area = server
            .iter()
            .fold(Data::new().move_to((first, band.y(0.0))), |area, &corner| area.line_to(corner));
        let area = area.line_to((last, band.y(0.0))).close();
        picture =
            picture.add(Path::new().set("d", area).set("fill", SERVER).set("fill-opacity", 0.18));
    }
    picture = picture.add(line(&server, SERVER));
    if run.curve.others().is_some() {
        let others = band.steps(&run.curve.0, |used| used.others.unwrap_or_default());
        picture = picture.add(line(&others, OTHERS));
    }
    let waits = run.seen.waits();
    let health = run.seen.health();
    let told = [
        format!("{:.1} % on average", run.curve.server()),
        format!("{} pictures", run.seen.served()),
        format!("wait p50 {:.1} s, p99 {:.1} s", waits.p50_ms / 1e3, waits.p99_ms / 1e3),
        format!("overtaken by {} at most", run.finished.by_at_most),
        format!("/healthz p99 {:.1} ms", health.p99_ms),
    ];
    picture = picture.add(text(run.way.name(), LEFT, band.top - 10.0).set("font-weight", "bold"));
    for (number, told) in (0_u32..).zip(told) {
        picture =
            picture.add(text(&told, RIGHT + 18.0, band.top + 14.0 + 21.0 * f64::from(number)));
    }
    picture
}

fn line(corners: &[(f64, f64)], colour: &str) -> Polyline {
    let points: Vec<String> = corners.iter().map(|(x, y)| format!("{x},{y}")).collect();
    Polyline::new()
        .set("points", points.join(" "))
        .set("fill", "none")
        .set("stroke", colour)
        .set("stroke-width", 1.6)
}

fn rule(x1: f64, y1: f64, x2: f64, y2: f64) -> Line {
    Line::new()
        .set("x1", x1)
        .set("y1", y1)
        .set("x2", x2)
        .set("y2", y2)
        .set("stroke", INK)
        .set("stroke-opacity", 0.35)
        .set("stroke-width", 1.6)
}

fn text(content: &str, x: f64, y: f64) -> Text {
    Text::new(content).set("x", x).set("y", round(y))
}

/// Rounds to a tenth of a pixel.
fn round(value: f64) -> f64 {
    (10.0 * value).round() / 10.0
}

const WIDTH: f64 = 960.0;
const TOP: f64 = 90.0;
const BAND: f64 = 176.0;
const HEIGHT: f64 = 120.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 740.0;

/// From a palette for all kinds of colour vision.
const SERVER: &str = "#3b8fd1";
const OTHERS: &str = "#d55e00";
const INK: &str = "#7d8590";
