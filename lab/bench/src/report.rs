//! Reports: tables in Markdown, each with its command and its machine, ready to be pasted.

use std::{env, ffi::OsStr, fmt, fs, path::Path, process::Command, thread};

use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};

use crate::{case::Group, effort::Effort};

/// A table with its title, its command, its machine, and notes on how to read it.
#[derive(Debug)]
pub(crate) struct Report {
    title: String,
    command: String,
    table: Table,
    notes: Vec<String>,
}

impl Report {
    /// Creates an empty table of the subcommand `what`.
    pub(crate) fn new(title: &str, what: &str, effort: Effort, columns: &[&str]) -> Self {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header(columns);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let option = effort.option();
        let command = format!("cargo lab waiting-room-bench -- {what}{option}");
        Self { title: title.to_owned(), command, table, notes: Vec::new() }
    }

    /// Creates the empty table of a group.
    pub(crate) fn of_group(group: Group, effort: Effort, columns: &[&str]) -> Self {
        Self::new(group.title(), &format!("cases {}", group.name()), effort, columns)
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.table.add_row(cells);
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## {}\n\n`{}`  \n{}\n", self.title, self.command, machine())?;
        writeln!(f, "{}", self.table)?;
        if !self.notes.is_empty() {
            writeln!(f)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "- {note}"))
    }
}

/// Describes the processor, the number of cores, the kernel and the compiler.
fn machine() -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let build = if cfg!(debug_assertions) { "DEBUG BUILD, times mean nothing" } else { "release" };
    let processor = processor();
    let compiler = compiler();
    format!("{processor}, {cores} cores, Linux {}, {compiler}, {build}", kernel.trim())
}

/// Describes how this program was built.
pub(crate) fn build() -> String {
    let path = env::current_exe().ok();
    let folder = path.as_deref().and_then(Path::parent).and_then(Path::file_name);
    let profile = folder.map_or_else(Default::default, OsStr::to_string_lossy);
    // A test compares these values with Cargo.toml.
    let (lto, units) = match &*profile {
        "lto" => ("fat", "1"),
        _ => (
            option_env!("CARGO_PROFILE_RELEASE_LTO").unwrap_or("off"),
            option_env!("CARGO_PROFILE_RELEASE_CODEGEN_UNITS").unwrap_or("16"),
        ),
    };
    format!("Built with the profile {profile}: LTO {lto}, {units} codegen units.")
}

fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.split(':').next().map(str::trim) == Some(name))?;
        line.split_once(": ").map(|(_, value)| value.to_owned())
    };
    let name = field("model name").unwrap_or_else(|| "an unknown processor".to_owned());
    match (field("cpu family"), field("model")) {
        (Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        _ => name,
    }
}

/// Returns the version of the compiler in the path, which `cargo run` has just used.
fn compiler() -> String {
    let version = Command::new("rustc").arg("--version").output().ok();
    let words = version.and_then(|said| String::from_utf8(said.stdout).ok()).unwrap_or_default();
    words.split(" (").next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_the_profile_lto_optimizes_all_crates_together() {
        let manifest = include_str!("../../../Cargo.toml");
        let profile = manifest.split("[profile.release]").nth(1).expect("there is the profile");
        let profile = profile.split("\n[").next().expect("it has an end");
        assert!(!profile.contains("lto") && !profile.contains("codegen-units"), "{profile}");
        let profile = manifest.split("[profile.lto]").nth(1).expect("there is the other profile");
        assert!(profile.contains("lto = \"fat\"\ncodegen-units = 1"), "{profile}");
    }
}
