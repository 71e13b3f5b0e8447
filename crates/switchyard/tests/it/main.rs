//! The real binary, driven as its users and its enemies would.

mod cli;
mod conformance;
mod faults;
mod faults_disk;
mod faults_kill;
mod faults_tree;
mod front;
mod schema_run;
