//! The machine that figures are of.

use std::{fs, process::Command, thread};

/// The processor, the number of cores, the kernel and the compiler.
pub(super) fn machine() -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let build = if cfg!(debug_assertions) { "DEBUG BUILD, times mean nothing" } else { "release" };
    let (processor, compiler) = (processor(), compiler());
    format!("{processor}, {cores} cores, Linux {}, {compiler}, {build}", kernel.trim())
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

/// The compiler on the path, which is the one that `cargo run` has just used.
fn compiler() -> String {
    let version = Command::new("rustc").arg("--version").output().ok();
    let words = version.and_then(|said| String::from_utf8(said.stdout).ok()).unwrap_or_default();
    words.split(" (").next().unwrap_or_default().trim().to_owned()
}
