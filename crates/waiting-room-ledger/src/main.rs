//! The program `waiting-room-ledger`.

use std::process::ExitCode;

fn main() -> ExitCode {
    waiting_room_ledger::main()
}
