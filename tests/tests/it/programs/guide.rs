//! The programs in `docs/guide`, except for those of the quick start, which
//! `scripts/newcomer.sh` compiles like a new user. All excerpts together are one more program, and
//! each migration by diff is one, as it is afterwards; `lab/migration` compares it with the one before.

use std::{fmt::Write, fs};

use tests::{Block, pages};

use super::listing::Listing;

/// The programs of the guide, and their names.
pub(crate) struct GuidePrograms;

impl GuidePrograms {
    /// The program that runs all excerpts.
    pub(crate) const EXCERPTS: &str = "guide-excerpts";

    /// The name of a program: it is the `number`th on this page, counted from 1.
    pub(crate) fn name(page: &str, number: usize) -> String {
        format!("guide-{page}-{number}")
    }

    pub(crate) fn listings() -> Vec<Listing> {
        let mut listings = Vec::new();
        let mut excerpts = Excerpts::default();
        for file in pages("docs/guide") {
            let page = file.file_stem().unwrap().to_str().unwrap();
            let blocks = Block::all(&fs::read_to_string(&file).unwrap());
            excerpts.add(page, &blocks);
            if page != "quick-start" {
                listings.extend(programs(page, &blocks));
                listings.extend(migrations(page, &blocks));
            }
        }
        listings.push(excerpts.listing());
        listings
    }
}

/// The programs of a page. Each has the dependencies that the page lists last before it.
fn programs(page: &str, blocks: &[Block]) -> Vec<Listing> {
    let mut programs = Vec::new();
    let mut dependencies = None;
    for block in blocks {
        if block.language == "toml" && block.text.starts_with("[dependencies]") {
            dependencies = Some(&block.text);
        } else if block.is_program() {
            let dependencies = dependencies.unwrap_or_else(|| panic!("{page} lists none"));
            programs.push(Listing {
                name: GuidePrograms::name(page, programs.len() + 1),
                dependencies: dependencies.clone(),
                program: block.text.clone(),
            });
        }
    }
    programs
}

/// The programs after the migrations of a page. Two diffs are one migration: that of the
/// dependencies, and that of the program.
fn migrations(page: &str, blocks: &[Block]) -> Vec<Listing> {
    let diffs: Vec<_> = blocks.iter().filter(|block| block.language == "diff").collect();
    let migrations = diffs.chunks_exact(2).enumerate();
    let migrations = migrations.map(|(number, diffs)| Listing {
        name: format!("guide-{page}-diff-{number}"),
        dependencies: afterwards(diffs[0]),
        program: afterwards(diffs[1]),
    });
    migrations.collect()
}

/// Returns the text that a diff leads to. An empty line is one of its context.
fn afterwards(diff: &Block) -> String {
    let lines = diff.text.lines().filter(|line| !line.starts_with('-'));
    lines.map(|line| format!("{}\n", line.get(1..).unwrap_or_default())).collect()
}

/// One function for each excerpt, and a `main` function that calls them.
#[derive(Default)]
struct Excerpts {
    functions: String,
    calls: String,
}

impl Excerpts {
    fn add(&mut self, page: &str, blocks: &[Block]) {
        for Block { text, line, .. } in blocks.iter().filter(|block| block.is_excerpt()) {
            let name = format!("{}_{line}", page.replace('-', "_"));
            let result = "Result<(), Box<dyn std::error::Error>>";
            write!(self.functions, "async fn {name}() -> {result} {{\n{text}\nOk(())\n}}\n\n")
                .unwrap();
            writeln!(self.calls, "    println!(\"{page}.md:{line}\");\n    {name}().await?;")
                .unwrap();
        }
    }

    /// The excerpts may use tower, WebSockets, and what the program with Redis depends on.
    fn listing(self) -> Listing {
        let redis =
            Listing::all().into_iter().find(|listing| listing.name == "shared_room").unwrap();
        let main = "#[tokio::main]\nasync fn main() -> Result<(), Box<dyn std::error::Error>> {\n";
        let Self { functions, calls } = self;
        let sockets = "axum = { version = \"0.8\", features = [\"ws\"] }";
        let dependencies = redis.dependencies.replace("axum = \"0.8\"", sockets);
        Listing {
            name: GuidePrograms::EXCERPTS.to_owned(),
            dependencies: dependencies + "tower = { version = \"0.5\", features = [\"util\"] }\n",
            program: format!("#![allow(unused)]\n\n{functions}{main}{calls}    Ok(())\n}}\n"),
        }
    }
}
