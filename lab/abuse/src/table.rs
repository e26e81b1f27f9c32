//! The table of attacks: what was sent, what the attacker got, what people got meanwhile, and
//! whether the bound was kept.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};

use crate::trial::Trial;

/// A table with one row for each attack.
pub(crate) fn table(trials: &[Trial]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(HEADER);
    for trial in trials {
        table.add_row(row(trial));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for text in [2, 6, 7] {
        if let Some(column) = table.column_mut(text) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    table
}

fn row(trial: &Trial) -> [String; 8] {
    let strike = &trial.strike;
    let calm = &trial.calm;
    let meanwhile = &trial.meanwhile;
    [
        trial.name(),
        strike.sent.to_string(),
        strike.got.clone(),
        meanwhile.all_served().to_string(),
        meanwhile.refused.len().to_string(),
        [calm.p99(), meanwhile.p99()].map(millis).join(" / "),
        strike.bound.clone(),
        match trial.broken().as_slice() {
            [] => "yes".to_owned(),
            broken => format!("no: {}", broken.join("; ")),
        },
    ]
}

fn millis(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64() * 1_000.0)
}

const HEADER: [&str; 8] = [
    "attack",
    "sent",
    "the attacker got",
    "people: served",
    "refused",
    "p99 in ms: calm / meanwhile",
    "bound",
    "kept",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{people::Seen, strike::Strike, trial::Attack};

    #[test]
    fn a_run_in_which_people_got_nothing_is_void() {
        let strike = Strike::new(1, "nothing", "nothing");
        let idle = Seen::default();
        let mut busy = Seen::default();
        busy.served.fill(1);
        let trial = Trial { attack: Attack::Paths, strike, calm: busy.clone(), meanwhile: idle };
        assert_eq!(row(&trial)[7], "no: void: 6 people were not served meanwhile");
        let trial = Trial { meanwhile: busy, ..trial };
        assert_eq!(row(&trial)[7], "yes");
    }
}
