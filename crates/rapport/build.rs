//! Links the program at fixed addresses on Linux. At variable ones, every process of it would begin by writing a
//! megabyte of addresses into memory of its own, and a keeper, of which each agent has one, needs little else. The
//! addresses of libraries, stacks and the heap stay variable.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
