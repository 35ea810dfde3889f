//! The engine in a world of parties: honest, attacked, and measured.

mod world;

mod attacks;
mod circuits;
mod costs;
mod frequencies;
mod honest;
mod imports;
mod interval;
mod loglog;
mod programs;
mod sabotage;
mod sorting;
