//! The recorded days as a table and as a chart.

use std::{collections::VecDeque, fmt::Write};

use waiting_room_core::Timestamp;

use super::history::RoomSample;

/// A curve of the chart.
struct Curve {
    name: &'static str,
    colour: &'static str,
    of: fn(&RoomSample) -> u32,
}

/// Returns the minutes as CSV (RFC 4180). A figure that is not known is left empty.
pub(super) fn table(minutes: &VecDeque<RoomSample>) -> String {
    let mut table = String::from(
        "minute,active_visitors,limit_on_active_visitors,visitors_in_line,admitted_in_60_s,\
         refused_requests,wait_p50_ms,wait_p95_ms,estimated_wait_ms\r\n",
    );
    for minute in minutes {
        table.push_str(&Timestamp::from_secs(minute.at).to_string());
        let room = |figure| minute.is_known.then_some(figure);
        let figures = [
            room(minute.active),
            room(minute.limit),
            room(minute.waiting),
            room(minute.admitted),
            Some(minute.refused),
            minute.p50,
            minute.p95,
            minute.told,
        ];
        for figure in figures {
            table.push(',');
            if let Some(figure) = figure {
                // Writing to a string cannot fail.
                _ = write!(table, "{figure}");
            }
        }
        table.push_str("\r\n");
    }
    table
}

/// Draws the active visitors with their limit, the line, and the admissions per minute.
///
/// The colours are of medium lightness, to be readable on white and on black.
pub(super) fn chart(room: &str, minutes: &VecDeque<RoomSample>) -> String {
    let (first, last) = match (minutes.front(), minutes.back()) {
        (Some(first), Some(last)) => (first.at, last.at.max(first.at + 60)),
        _ => (0, 60),
    };
    let most = minutes
        .iter()
        .map(|minute| minute.active.max(minute.limit).max(minute.waiting).max(minute.admitted));
    let most = round_up(most.max().unwrap_or(1));
    let x = |at: u64| LEFT + (RIGHT - LEFT) * number(at - first) / number(last - first);
    let y = |figure: u32| BOTTOM - (BOTTOM - TOP) * f64::from(figure) / f64::from(most);
    let title = escaped(room);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#7d7887\">\n\
         <title>{title}: visitors per minute</title>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"16\" font-weight=\"600\">{title}</text>\n",
    );
    for step in 0..=4 {
        let figure = most / 4 * step;
        let up = y(figure);
        _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {up:.1}H{RIGHT}\" stroke=\"#7d7887\" stroke-opacity=\".35\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{figure}</text>",
            LEFT - 8.0,
            up + 4.0,
        );
    }
    for step in 0..=6 {
        let at = first + (last - first) / 6 * step;
        let shown = Timestamp::from_secs(at).to_string()[5..16].replace('T', " ");
        _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{shown}</text>",
            x(at),
            BOTTOM + 20.0,
        );
    }
    for (index, Curve { name, colour, of }) in CURVES.into_iter().enumerate() {
        _ = writeln!(
            svg,
            "<path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{}/>",
            path(minutes, &x, |minute| y(of(minute))),
            if name == "limit" { " stroke-dasharray=\"6 4\"" } else { "" },
        );
        let from = LEFT + 190.0 * number(index as u64);
        _ = writeln!(
            svg,
            "<path d=\"M{from} {LEGEND}h20\" stroke=\"{colour}\" stroke-width=\"3\"/>\
             <text x=\"{}\" y=\"{}\">{name}</text>",
            from + 28.0,
            LEGEND + 4.0,
        );
    }
    svg + "</svg>\n"
}

/// Returns a path through the known minutes. A gap in the record is a gap in the path.
fn path(
    minutes: &VecDeque<RoomSample>,
    x: &impl Fn(u64) -> f64,
    y: impl Fn(&RoomSample) -> f64,
) -> String {
    let mut path = String::new();
    let mut before = None;
    for minute in minutes.iter().filter(|minute| minute.is_known) {
        let pen = if before == minute.at.checked_sub(60) && before.is_some() { 'L' } else { 'M' };
        _ = write!(path, "{pen}{:.1} {:.1}", x(minute.at), y(minute));
        before = Some(minute.at);
    }
    path
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Rounds up to the next of the numbers 4, 8, 20, 40, 80, 200, …, so that a quarter of it is round.
fn round_up(most: u32) -> u32 {
    let mut unit = 4u32;
    loop {
        for factor in [1, 2, 5] {
            match unit.checked_mul(factor) {
                Some(round) if round >= most => return round,
                Some(_) => (),
                None => return u32::MAX,
            }
        }
        unit = unit.saturating_mul(10);
    }
}

/// Converts a time or an index, which is less than 2^32 here.
fn number(integer: u64) -> f64 {
    f64::from(u32::try_from(integer).unwrap_or(u32::MAX))
}

const CURVES: [Curve; 4] = [
    Curve { name: "limit", colour: "#8a8496", of: |minute| minute.limit },
    Curve { name: "active visitors", colour: "#6b4fe0", of: |minute| minute.active },
    Curve { name: "visitors in line", colour: "#c9692b", of: |minute| minute.waiting },
    Curve { name: "admitted per minute", colour: "#1f8f6b", of: |minute| minute.admitted },
];

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 930.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 340.0;
const LEGEND: f64 = 395.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes() -> VecDeque<RoomSample> {
        let minute = |at, is_known, active| RoomSample {
            at,
            is_known,
            active,
            limit: 200,
            p50: Some(1_500),
            ..RoomSample::default()
        };
        [(0, true, 7), (60, false, 0), (120, true, 9), (180, true, 10)]
            .into_iter()
            .map(|(at, is_known, active)| minute(1_700_000_040 + at, is_known, active))
            .collect()
    }

    #[test]
    fn the_table_has_one_row_per_minute_and_leaves_out_unknown_values() {
        let table = table(&minutes());
        let rows: Vec<_> = table.split("\r\n").collect();
        assert_eq!(rows.len(), 6, "a heading, four minutes, and the end of the last row");
        assert_eq!(rows[1], "2023-11-14T22:14:00Z,7,200,0,0,0,1500,,");
        assert_eq!(rows[2], "2023-11-14T22:15:00Z,,,,,0,1500,,");
        let columns = rows[0].split(',').count();
        assert!(rows[..5].iter().all(|row| row.split(',').count() == columns));
    }

    #[test]
    fn the_chart_has_a_gap_where_the_store_did_not_answer_and_escapes_the_name() {
        let chart = chart("<shop> & \"co\"", &minutes());
        assert!(chart.contains("<title>&lt;shop&gt; &amp; &quot;co&quot;: visitors"), "{chart}");
        assert!(chart.contains("stroke=\"#6b4fe0\""));
        let curve = chart.lines().find(|line| line.contains("#6b4fe0")).unwrap();
        assert_eq!((curve.matches('M').count(), curve.matches('L').count()), (2, 1), "{curve}");
        assert!(!chart.contains("NaN"));
    }

    #[test]
    fn the_chart_has_a_gap_where_the_process_did_not_run() {
        let mut minutes = minutes();
        minutes[1].is_known = true;
        let curve = |minutes: &VecDeque<RoomSample>| {
            let chart = chart("shop", minutes);
            let curve = chart.lines().find(|line| line.contains("#6b4fe0")).unwrap();
            (curve.matches('M').count(), curve.matches('L').count())
        };
        assert_eq!(curve(&minutes), (1, 3));
        minutes.remove(1);
        assert_eq!(curve(&minutes), (2, 1));
    }

    #[test]
    fn an_empty_record_is_an_empty_chart() {
        let chart = chart("shop", &VecDeque::new());
        assert!(chart.ends_with("</svg>\n") && !chart.contains("NaN"), "{chart}");
        assert_eq!(table(&VecDeque::new()).matches("\r\n").count(), 1);
    }

    #[test]
    fn a_quarter_of_the_highest_number_is_round() {
        for (most, round) in [(0, 4), (4, 4), (5, 8), (9, 20), (21, 40), (200, 200), (201, 400)] {
            assert_eq!(round_up(most), round);
        }
        assert_eq!(round_up(u32::MAX), u32::MAX);
    }
}
