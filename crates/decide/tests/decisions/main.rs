//! Whole decisions in memory: three servers' roles, people with their devices, and what cheats try.

mod attacks;
mod forms;
mod gathering;
mod histories;
mod keys;
mod receipts;
mod stories;
mod turnout;
mod world;
