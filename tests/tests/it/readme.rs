//! The program of `README.md`: copied into an empty crate it compiles, and it serves.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use http::StatusCode;
use tests::Visitor;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// How the README tells axum to give the addresses of clients to the layer.
const SERVES: &str = "app.into_make_service_with_connect_info::<SocketAddr>()";

#[tokio::test]
async fn the_program_of_the_readme_serves_its_first_visitor() {
    let (readme, root) = (Readme::read(), workspace());
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &readme, &root);
    let programs = build(folder.path()).await;

    let shop = Shop::open(&programs.join("readme-shop")).await;
    let seen = shop.visitor().get("/").await;
    assert_eq!((seen.status, &*seen.body), (StatusCode::OK, "Welcome to the shop."));
    assert_eq!(shop.close().await, "", "it has nothing to complain about");

    // The same program by someone who does not know of connect info.
    let shop = Shop::open(&programs.join("readme-shop-without-addresses")).await;
    for _ in 0..2 {
        let seen = shop.visitor().get("/").await;
        assert_eq!(seen.status, StatusCode::INTERNAL_SERVER_ERROR);
        let problem = seen.json();
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(SERVES), "{detail}");
    }
    let said = shop.close().await;
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(SERVES), "{said}");
}

/// The first blocks of code in the README.
struct Readme {
    dependencies: String,
    program: String,
}

impl Readme {
    fn read() -> Self {
        let text = fs::read_to_string(workspace().join("README.md")).unwrap();
        let block = |language: &str| {
            let (_, rest) = text.split_once(&format!("```{language}\n")).unwrap();
            rest.split_once("```\n").unwrap().0.to_owned()
        };
        Self { dependencies: block("toml"), program: block("rust") }
    }
}

/// Writes a crate with two programs: that of the README, on any free port, and the same without
/// connect info.
fn write(folder: &Path, readme: &Readme, root: &Path) {
    let package = "[package]\nname = \"readme\"\nedition = \"2024\"\nautobins = false\n";
    let mut manifest = package.to_owned();
    for name in ["readme-shop", "readme-shop-without-addresses"] {
        manifest += &format!("[[bin]]\nname = \"{name}\"\npath = \"src/{name}.rs\"\n");
    }
    manifest += &readme.dependencies;
    // The crates that the README asks the registry for are those of this workspace.
    manifest += "[patch.crates-io]\n";
    for name in ["tower-waiting-room", "waiting-room-core"] {
        let path = root.join("crates").join(name);
        manifest += &format!("{name} = {{ path = {path:?} }}\n");
    }
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();

    let program = replaced(&readme.program, "127.0.0.1:3000", "127.0.0.1:0");
    let without = replaced(&program, SERVES, "app");
    let without = replaced(&without, "net::SocketAddr, ", "");
    fs::create_dir(folder.join("src")).unwrap();
    fs::write(folder.join("src/readme-shop.rs"), &program).unwrap();
    fs::write(folder.join("src/readme-shop-without-addresses.rs"), &without).unwrap();
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from} in {text}");
    text.replace(from, to)
}

/// Compiles the crate with what the workspace has compiled already; returns where its programs are.
async fn build(folder: &Path) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--target-dir"])
        .arg(target)
        .current_dir(folder)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said, "", "the compiler has nothing to complain about");
    target.join("debug")
}

/// A program of the README that runs.
struct Shop {
    process: Child,
    address: String,
}

impl Shop {
    async fn open(program: &Path) -> Self {
        let mut process = Command::new(program)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = lines.next_line().await.unwrap().expect("it says where it serves");
        Self { process, address }
    }

    /// A visitor that was never there before.
    fn visitor(&self) -> Visitor {
        Visitor::at(&self.address)
    }

    /// Stops it, and returns what it has written to standard error.
    async fn close(mut self) -> String {
        self.process.start_kill().unwrap();
        let output = self.process.wait_with_output().await.unwrap();
        String::from_utf8(output.stderr).unwrap()
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
