//! Builds the preloaded lesson clock, so that one `cargo build` makes one binary that carries it, and sees to it
//! that lessons and recordings are carried as they are now. Knows nothing of what the library does.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, exit},
};

const SOURCE: &str = "preload/lesson_clock.rs";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=preload");
    // What the binary carries: a file that comes or goes is seen only if it is asked for.
    println!("cargo::rerun-if-changed=lessons");
    println!("cargo::rerun-if-changed=kata");
    println!("cargo::rerun-if-changed=assets/recordings");

    let library = PathBuf::from(required("OUT_DIR")).join("lesson_clock.so");
    // An empty library means "none for this platform": the program then runs on the wall clock.
    let built =
        if has_preload() { build(&library) } else { fs::write(&library, []).map_err(|e| e.to_string()) };
    if let Err(why) = built {
        println!("cargo::error=the lesson clock ({SOURCE}) could not be built: {}", why.replace('\n', " | "));
        exit(1);
    }
}

/// Interposing as the library does it (symbol versions, `LD_PRELOAD`) is glibc's, and its argument passing has
/// been checked on these two processors only.
fn has_preload() -> bool {
    let is = |variable: &str, wanted: &[&str]| {
        env::var(variable).is_ok_and(|value| wanted.contains(&value.as_str()))
    };
    is("CARGO_CFG_TARGET_OS", &["linux"])
        && is("CARGO_CFG_TARGET_ENV", &["gnu"])
        && is("CARGO_CFG_TARGET_ARCH", &["x86_64", "aarch64"])
        && is("CARGO_CFG_TARGET_POINTER_WIDTH", &["64"])
}

fn build(library: &Path) -> Result<(), String> {
    let mut rustc = Command::new(required("RUSTC"));
    rustc
        .args(["--edition=2024", "--crate-type=cdylib", "--crate-name=lesson_clock"])
        .args([
            "-Cpanic=abort",
            "-Copt-level=2",
            "-Ccodegen-units=1",
            "-Cdebug-assertions=off",
            "-Cstrip=symbols",
        ])
        .arg("--target")
        .arg(required("TARGET"))
        .arg("-o")
        .arg(library)
        .arg(SOURCE);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut flag = OsString::from("-Clinker=");
        flag.push(linker);
        rustc.arg(flag);
    }
    let output =
        rustc.output().map_err(|e| format!("{} did not start: {e}", rustc.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("rustc ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
}

fn required(variable: &str) -> OsString {
    env::var_os(variable).unwrap_or_else(|| panic!("cargo sets {variable} for build scripts"))
}
