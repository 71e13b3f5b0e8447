//! Starts a router, puts it under load, and stops it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use bench::report::Report;
use bench::usage::memory_of;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

use super::point::{BusTransport, Point};
use super::series::{Run, Series};
use super::{BusBenchPlan, Options};

/// How long a router may take to listen, and to end after SIGTERM. Both take milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// The load client ends by itself; a router that does not take connections can hold it up.
const LOAD_PATIENCE: Duration = Duration::from_secs(20);
const POLL_EVERY: Duration = Duration::from_millis(2);
/// The pause after a router's start in which its worker starts too.
const AFTER_START: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MeasuredRouter {
    Floor,
    Reference,
    StdioBus,
    Switchyard,
}

impl MeasuredRouter {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Floor => "socket pair",
            Self::Reference => "reference",
            Self::StdioBus => "stdio Bus",
            Self::Switchyard => "switchyard",
        }
    }
}

/// Programs, configurations and a place for sockets.
pub(super) struct BusBenchSetup {
    directory: TempDir,
    /// Where our own programs are.
    programs: PathBuf,
    switchyard: PathBuf,
    stdio_bus: PathBuf,
    is_fifo: bool,
}

impl BusBenchSetup {
    pub(super) fn new(options: &Options) -> anyhow::Result<Self> {
        let programs = std::env::current_exe()?.parent().context("no directory")?.to_owned();
        let directory = tempfile::tempdir()?;
        let worker = programs.join("bus-echo");
        let worker = worker.to_str().context("the path of the worker is not UTF-8")?;
        let pool = json!({ "id": "echo", "command": worker, "args": [], "instances": 1 });
        fs::write(directory.path().join("bus.json"), json!({ "pools": [pool] }).to_string())?;
        let pool = format!("[[pool]]\nname = \"echo\"\ncommand = {worker:?}\nworkers = 1\n");
        fs::write(directory.path().join("bus.toml"), pool)?;
        Ok(Self {
            directory,
            programs,
            switchyard: options.switchyard.clone(),
            stdio_bus: options.stdio_bus.clone().unwrap_or_default(),
            is_fifo: options.is_fifo,
        })
    }

    /// Each router at one point, in turns.
    pub(super) fn measure(
        &self,
        point: Point,
        pace: BusBenchPlan,
        routers: &[MeasuredRouter],
    ) -> anyhow::Result<Vec<(MeasuredRouter, Series)>> {
        // A socket pair is the same whatever it is compared with.
        let floor = (point.over == BusTransport::Tcp).then_some(MeasuredRouter::Floor);
        let mut all: Vec<_> =
            floor.iter().chain(routers).map(|through| (*through, Series::default())).collect();
        for round in 0..pace.n_rounds {
            // The order rotates, so that none always runs after the same other one.
            let n_all = all.len();
            for turn in 0..n_all {
                if let Some((through, series)) = all.get_mut((turn + round) % n_all) {
                    series.add(self.run(*through, point, pace)?);
                }
            }
        }
        Ok(all)
    }

    fn run(
        &self,
        through: MeasuredRouter,
        point: Point,
        pace: BusBenchPlan,
    ) -> anyhow::Result<Run> {
        let mut load = self.command(&self.programs.join("bus-load"));
        let as_ms = |duration: Duration| duration.as_millis().to_string();
        load.args(["--sessions", &point.n_sessions.to_string()]);
        load.args(["--bytes", &point.n_bytes.to_string()]);
        load.args(["--warm-ms", &as_ms(pace.warm), "--measure-ms", &as_ms(pace.measure)]);
        if point.over == BusTransport::UnixMux {
            load.arg("--mux");
        }
        if through == MeasuredRouter::Floor {
            load.arg("--worker").arg(self.programs.join("bus-echo"));
            return Ok(Run { outcome: report_of(load), idle_kib: None });
        }
        let address = self.free_address(point.over)?;
        let router = match self.start(through, &address) {
            Ok(router) => router,
            Err(why) => return Ok(Run { outcome: Err(why.to_string()), idle_kib: None }),
        };
        let idle_kib = Some(memory_of(router.child.id()).resident_kib);
        load.args(address.arguments()).args(["--bus", &router.child.id().to_string()]);
        let outcome = report_of(load);
        let ended = router.stop();
        // stdio Bus crashes when it is stopped, always.
        let outcome = match ended {
            Err(why) if through != MeasuredRouter::StdioBus => outcome.and(Err(why.to_string())),
            _ => outcome,
        };
        Ok(Run { outcome, idle_kib })
    }

    fn start(&self, through: MeasuredRouter, address: &Address) -> anyhow::Result<Router> {
        let config = |name| self.directory.path().join(name);
        let mut command = match through {
            MeasuredRouter::Floor | MeasuredRouter::Reference => {
                let mut command = self.command(&self.programs.join("bus-reference"));
                command.args(address.arguments()).arg("--").arg(self.programs.join("bus-echo"));
                command
            }
            MeasuredRouter::StdioBus => {
                let mut command = self.command(&self.stdio_bus);
                command.arg("--config").arg(config("bus.json")).args(address.arguments());
                command
            }
            MeasuredRouter::Switchyard => {
                let mut command = self.command(&self.switchyard);
                command.args(["bus", "-c"]).arg(config("bus.toml")).args(address.arguments());
                command.env("SWITCHYARD_HOME", self.directory.path());
                if matches!(address, Address::Tcp(_)) {
                    command.arg("--no-token");
                }
                command
            }
        };
        let log = self.directory.path().join("stderr");
        // stdio Bus logs every message, which would cost it even more in a file.
        let stderr = match through {
            MeasuredRouter::StdioBus => Stdio::null(),
            _ => File::create(&log)?.into(),
        };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        let child = command.spawn().with_context(|| format!("cannot start {}", through.name()))?;
        let mut router = Router { child, is_stopped: false };
        if let Err(error) = router.wait_until_it_listens(address) {
            let said = fs::read_to_string(&log).unwrap_or_default();
            let last = said.lines().last().unwrap_or("nothing").to_owned();
            return Err(error.context(format!("{} said: {last}", through.name())));
        }
        sleep(AFTER_START);
        Ok(router)
    }

    fn command(&self, program: &Path) -> Command {
        if !self.is_fifo {
            return Command::new(program);
        }
        let mut command = Command::new("chrt");
        command.args(["--fifo", "10"]).arg(program);
        command
    }

    fn free_address(&self, over: BusTransport) -> anyhow::Result<Address> {
        if over != BusTransport::Tcp {
            let path = self.directory.path().join("bus.sock");
            let _ = fs::remove_file(&path);
            return Ok(Address::Unix(path));
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        Ok(Address::Tcp(listener.local_addr()?))
    }
}

enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Address {
    /// All of the programs have the same options.
    fn arguments(&self) -> [OsString; 2] {
        match self {
            Self::Tcp(address) => ["--tcp".into(), address.to_string().into()],
            Self::Unix(path) => ["--unix".into(), path.into()],
        }
    }

    fn is_taken(&self) -> bool {
        match self {
            Self::Tcp(address) => TcpStream::connect(address).is_ok(),
            Self::Unix(path) => UnixStream::connect(path).is_ok(),
        }
    }
}

struct Router {
    child: Child,
    is_stopped: bool,
}

impl Router {
    fn wait_until_it_listens(&mut self, address: &Address) -> anyhow::Result<()> {
        let started = Instant::now();
        while !address.is_taken() {
            if let Some(status) = self.child.try_wait()? {
                anyhow::bail!("it ended at once: {status}");
            }
            anyhow::ensure!(started.elapsed() < PATIENCE, "it does not listen");
            sleep(POLL_EVERY);
        }
        Ok(())
    }

    fn stop(mut self) -> anyhow::Result<()> {
        if let Some(status) = self.child.try_wait()? {
            anyhow::bail!("the router ended in the middle: {status}");
        }
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        wait_for(&mut self.child, PATIENCE).context("the router does not end")?;
        self.is_stopped = true;
        Ok(())
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        if !self.is_stopped {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn report_of(mut load: Command) -> Result<Report, String> {
    let mut outcome = || -> anyhow::Result<Report> {
        let mut child = load.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let ended = wait_for(&mut child, LOAD_PATIENCE);
        let _ = child.kill();
        let (mut said, mut complained) = (String::new(), String::new());
        child.stdout.take().context("no stdout")?.read_to_string(&mut said)?;
        child.stderr.take().context("no stderr")?.read_to_string(&mut complained)?;
        child.wait()?;
        ended?;
        anyhow::ensure!(!said.is_empty(), "{}", complained.trim());
        Ok(serde_json::from_str(&said)?)
    };
    outcome().map_err(|error| format!("load client: {error:#}"))
}

fn wait_for(child: &mut Child, patience: Duration) -> anyhow::Result<()> {
    let started = Instant::now();
    while child.try_wait()?.is_none() {
        anyhow::ensure!(started.elapsed() < patience, "not within {patience:?}");
        sleep(POLL_EVERY);
    }
    Ok(())
}
