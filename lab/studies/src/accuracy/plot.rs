//! The figures as a chart: wrong decisions on the left, the fullest window on the right.
//!
//! Each kind of traffic is a band, and each algorithm is a line in it.

use svg::{
    Document,
    node::element::{Circle, Rectangle},
};

use super::{candidate::Candidate, row::Row, study::Study};
use crate::chart::{self, WIDTH, colour, frame, round, rule, text};

/// Draws the whole chart.
pub(super) fn plot(study: &Study) -> Document {
    let bands = study.rows().chunks(Candidate::ALL.len());
    let height = TOP + BAND * bands.len() as f64 + 48.0;
    let title = "Rate limits against an exact log";
    let mut picture = with_legend(frame(title, Some(&subtitle(study)), height));
    for panel in [&WRONG, &FULLEST] {
        picture = with_axis(picture, panel, TOP + BAND * bands.len() as f64);
    }
    let mut top = TOP;
    for band in bands {
        picture = with_band(picture, band, top);
        top += BAND;
    }
    picture
}

fn subtitle(study: &Study) -> String {
    let requests = study.rows().chunks(Candidate::ALL.len()).map(|band| band[0].requests);
    let millions = requests.sum::<u64>() as f64 / 1e6;
    format!("{millions:.1} million requests, seed {}", study.seed())
}

/// Draws the legend: the colours of the algorithms, and the dots of the loops.
fn with_legend(mut picture: Document) -> Document {
    for (index, x) in [16.0, 146.0, 286.0, 366.0].into_iter().enumerate() {
        let name = text(Candidate::ALL[index].name(), x + 16.0, 70.5);
        picture = picture.add(dot(index, x + 5.0, 66.0)).add(name);
    }
    picture.add(text("● open loop", 480.0, 70.5)).add(text("○ closed loop", 570.0, 70.5))
}

/// Draws the title, the lines and the numbers of an axis.
fn with_axis(mut picture: Document, panel: &Panel, bottom: f64) -> Document {
    picture = picture.add(text(panel.title, panel.left, TOP - 12.0).set("font-weight", "bold"));
    for &(value, label) in panel.ticks {
        let x = (panel.place)(value);
        picture = picture
            .add(rule(x, TOP, x, bottom))
            .add(text(label, x, bottom + 18.0).set("text-anchor", "middle"));
    }
    picture
}

/// Draws one kind of traffic.
fn with_band(mut picture: Document, band: &[Row], top: f64) -> Document {
    picture = picture.add(rule(16.0, top, WIDTH - 16.0, top));
    for (index, row) in band.iter().enumerate() {
        let y = top + 14.0 + LINE * index as f64;
        if index == 0 {
            picture = picture.add(text(row.traffic, 16.0, y + 9.0)).add(text(
                &format!("{} in {} s", row.limit, row.window_s),
                16.0,
                y + 26.0,
            ));
        }
        // The filled dot is drawn first, so that the ring around it stays visible.
        if let Some(share) = row.open_wrong_share {
            picture = picture.add(dot(index, (WRONG.place)(share), y));
        }
        let most = (FULLEST.place)(row.most_by_limit);
        picture = picture
            .add(ring(index, (WRONG.place)(row.closed_wrong_share), y))
            .add(bar(index, y, most))
            .add(
                text(&row.most_in_any_window.to_string(), most + 6.0, y + 4.0).set("font-size", 11),
            );
    }
    picture
}

/// A filled dot, as large as the inside of an empty one.
fn dot(index: usize, x: f64, y: f64) -> Circle {
    chart::dot(index, x, y).set("stroke", colour(index))
}

/// An empty dot.
fn ring(index: usize, x: f64, y: f64) -> Circle {
    Circle::new()
        .set("cx", round(x))
        .set("cy", round(y))
        .set("r", 5.5)
        .set("fill", "none")
        .set("stroke", colour(index))
        .set("stroke-width", 1.6)
}

fn bar(index: usize, y: f64, end: f64) -> Rectangle {
    let start = (FULLEST.place)(0.0);
    Rectangle::new()
        .set("x", start)
        .set("y", y - 4.0)
        .set("width", round(end - start))
        .set("height", 8)
        .set("fill", colour(index))
}

/// One of the two axes, and the position of a value on it.
struct Panel {
    title: &'static str,
    left: f64,
    ticks: &'static [(f64, &'static str)],
    place: fn(f64) -> f64,
}

/// A logarithmic axis has no position for zero, so zero gets a position at the left.
const WRONG: Panel = Panel {
    title: "Share of wrong decisions",
    left: 176.0,
    ticks: &[
        (0.0, "none"),
        (1e-5, "0.001 %"),
        (1e-4, "0.01 %"),
        (1e-3, "0.1 %"),
        (1e-2, "1 %"),
        (1e-1, "10 %"),
        (1.0, "100 %"),
    ],
    place: |share| if share > 0.0 { 582.0 + 62.0 * share.max(3e-6).log10() } else { 192.0 },
};

const FULLEST: Panel = Panel {
    title: "Most in any window, closed loop",
    left: 640.0,
    ticks: &[(0.0, "0"), (1.0, "the limit"), (2.0, "twice")],
    place: |multiple| 640.0 + 125.0 * multiple,
};

const TOP: f64 = 122.0;
const BAND: f64 = 72.0;
const LINE: f64 = 15.0;
