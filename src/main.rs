//! The `lockstep` program: one binary that is the command line, a client of a lesson, or the guard of a
//! process, depending on its first argument.

use std::process::ExitCode;

use lockstep::{cli, client, lab};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    // Before anything else: a guard becomes another program and must not bring along any state of Lockstep.
    if args.next_if(|first| first == lab::guard::GUARD).is_some() {
        return lab::guard::guard_main(args);
    }
    if args.next_if(|first| first == lab::CLIENT).is_some() {
        return client::client_main();
    }
    cli::main()
}
