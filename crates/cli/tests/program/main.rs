//! The program, run as people run it: as processes, with real sockets, clocks and disks.
//!
//! One binary for all of it: each of these modules would otherwise link the whole server once more.

mod bench;
mod chat;
mod committee;
mod common;
mod config_check;
mod database;
mod decide;
mod demo;
mod export;
mod faults;
mod hostile;
mod hosting;
mod init;
mod intakes;
mod mixing;
mod namespaces;
mod operating;
mod renewal;
mod up;
mod verify_web;
