//! A terminal session: one shell for all commands of a page.

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

/// A shell that runs commands one after another, and servers beside them.
///
/// Variables and the working directory are kept between commands. All servers are stopped when the
/// session is dropped.
#[derive(Debug)]
pub struct Session {
    shell: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    servers: Vec<Server>,
    /// The number of servers that were started so far.
    started: usize,
    folder: PathBuf,
}

/// A server that was started in the session.
#[derive(Debug)]
struct Server {
    name: String,
    /// The id of its process group.
    group: String,
}

impl Session {
    /// Opens a session in this folder. Of the caller's environment, the shell inherits the path
    /// and the settings of cargo.
    ///
    /// # Panics
    ///
    /// If bash cannot be started.
    #[must_use]
    pub fn open(folder: &Path) -> Self {
        let mut shell = Command::new("bash")
            .args(["--noprofile", "--norc"])
            .env_clear()
            .envs(
                env::vars_os()
                    .filter(|(name, _)| INHERITED.iter().any(|variable| name == variable)),
            )
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = shell.stdin.take().unwrap();
        let output = BufReader::new(shell.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { shell, input, lines, servers: Vec::new(), started: 0, folder: folder.to_owned() }
    }

    /// Runs a command, and returns its exit status and everything that it printed.
    ///
    /// # Panics
    ///
    /// If the command does not end within five minutes.
    pub fn run(&mut self, command: &str) -> (String, String) {
        let script = format!("{{\n{command}\n}} 2>&1 </dev/null\nprintf '\\n{END} %s\\n' $?\n");
        self.input.write_all(script.as_bytes()).unwrap();
        let mut printed = String::new();
        loop {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else {
                panic!("this command does not end within {PATIENCE:?}: {command}\n{printed}");
            };
            if let Some(status) = line.strip_prefix(END) {
                return (status.trim().to_owned(), printed);
            }
            printed += &line;
            printed.push('\n');
        }
    }

    /// Starts a server, and returns what it printed as soon as `is_ready` accepts it. A server of
    /// the same name that is already running is stopped first.
    ///
    /// # Panics
    ///
    /// If the server ends, or is not ready within five minutes.
    pub fn serve(&mut self, name: &str, command: &str, is_ready: impl Fn(&str) -> bool) -> String {
        self.stop(name);
        let log = self.folder.join(format!("server-{}.log", self.started));
        self.started += 1;
        let start = format!("setsid {command} >'{}' 2>&1 & echo $!", log.display());
        let group = self.run(&start).1.trim().to_owned();
        self.servers.push(Server { name: name.to_owned(), group: group.clone() });
        for _ in 0..PATIENCE.as_millis() / POLL.as_millis() {
            let printed = fs::read_to_string(&log).unwrap_or_default();
            if is_ready(&printed) {
                return printed;
            }
            let (status, _) = self.run(&format!("kill -0 {group}"));
            assert_eq!(status, "0", "{command} has ended:\n{printed}");
            wait();
        }
        panic!("{command} is not ready: {}", fs::read_to_string(&log).unwrap_or_default());
    }

    /// Stops the server with this name, if it is running.
    fn stop(&mut self, name: &str) {
        for server in self.servers.extract_if(.., |server| server.name == name).collect::<Vec<_>>()
        {
            let group = server.group;
            self.run(&format!("kill -- -{group}; wait {group}"));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for server in &self.servers {
            // The process may have ended already.
            let _ = Command::new("kill").args(["--", &format!("-{}", server.group)]).status();
        }
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a file of a foreign process has to be polled")]
fn wait() {
    thread::sleep(POLL);
}

/// The environment variables that the shell inherits.
const INHERITED: [&str; 9] = [
    "CARGO_BUILD_JOBS",
    "CARGO_HOME",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_TARGET_DIR",
    "HOME",
    "PATH",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
];
/// The line that follows the output of each command.
const END: &str = "--- the command has ended:";
/// The longest time that a command may run. A command may compile a program.
const PATIENCE: Duration = Duration::from_secs(300);
/// The time between two looks at what a server has printed.
const POLL: Duration = Duration::from_millis(20);
