//! The ledger under adversaries. `OSTRAKON_NIGHTLY` runs a hundred times as many schedules.

mod attacks;
mod costs;
mod keys;
mod lost;
mod real;
mod sabotage;
mod schedules;
mod world;

fn nightly() -> bool {
    std::env::var_os("OSTRAKON_NIGHTLY").is_some()
}
