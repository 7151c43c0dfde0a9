// Frame of the page: navigation, state of the connection, and the page that the address names.
import { useEffect, useRef, useState } from "preact/hooks";
import { AuditPage } from "./pages/audit";
import { NodePage } from "./pages/node";
import { NodesPage } from "./pages/nodes";
import { CampaignPage } from "./pages/campaign";
import { CampaignsPage } from "./pages/campaigns";
import { CertificatePage } from "./pages/certificate";
import { CertificatesPage } from "./pages/certificates";
import { FindingPage } from "./pages/finding";
import { FindingsPage } from "./pages/findings";
import { MatrixPage } from "./pages/matrix";
import { OverviewPage } from "./pages/overview";
import { PortPage } from "./pages/port";
import { RulesPage } from "./pages/rules";
import { SchedulePage, SchedulesPage } from "./pages/schedules";
import { SilencesPage } from "./pages/silences";
import { SubnetsPage } from "./pages/subnets";
import { TopologyPage } from "./pages/topology";
import { THEME_EVENT } from "./parts/scheme";
import { SignIn } from "./parts/sign_in";
import { hashOf, useRoute, type Route } from "./router";
import { SessionContext, mayAdministrate, useNewSession, type Session } from "./session";

const PAGES: [string, string][] = [
  ["", "Overview"],
  ["findings", "Findings"],
  ["silences", "Silences"],
  ["nodes", "Nodes"],
  ["topology", "Topology"],
  ["subnets", "Subnets"],
  ["campaigns", "Campaigns"],
  ["schedules", "Schedules"],
  ["certificates", "Certificates"],
  ["rules", "Rules"],
  ["audit", "Audit"],
];
const ADMIN_PAGES = ["audit"];

function Page({ route }: { route: Route }) {
  const [first = "", second, third, fourth] = route.path;
  if (first === "") return <OverviewPage />;
  if (first === "nodes" && second && third && fourth)
    return <PortPage node={second} device={third} port={Number(fourth)} />;
  if (first === "nodes" && second) return <NodePage name={second} />;
  if (first === "nodes") return <NodesPage route={route} />;
  if (first === "findings")
    return second ? <FindingPage id={second} /> : <FindingsPage route={route} />;
  if (first === "campaigns" && second && third === "matrix")
    return <MatrixPage id={second} route={route} />;
  if (first === "campaigns") return second ? <CampaignPage id={second} /> : <CampaignsPage />;
  if (first === "schedules") return second ? <SchedulePage id={second} /> : <SchedulesPage />;
  if (first === "silences") return <SilencesPage route={route} />;
  if (first === "certificates")
    return second ? <CertificatePage id={second} /> : <CertificatesPage />;
  if (first === "topology") return <TopologyPage route={route} />;
  if (first === "subnets") return <SubnetsPage />;
  if (first === "rules") return <RulesPage route={route} />;
  if (first === "audit") return <AuditPage route={route} />;
  if (first === "identity") return <SignIn />;
  return (
    <>
      <h1>No such page</h1>
      <p>
        The address names no page. <a href="#/">Overview</a>
      </p>
    </>
  );
}

type Theme = "" | "light" | "dark";

function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(
    () => (localStorage.getItem("fabricd-theme") ?? "") as Theme,
  );
  useEffect(() => {
    if (theme === "") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem("fabricd-theme", theme);
    dispatchEvent(new Event(THEME_EVENT));
  }, [theme]);
  return [theme, setTheme];
}

function Connection({ session }: { session: Session }) {
  if (session.stream === "live")
    return (
      <span class="live">
        <svg viewBox="0 0 8 8" aria-hidden="true">
          <circle cx="4" cy="4" r="4" />
        </svg>
        live
      </span>
    );
  return (
    <span class="muted">{session.stream === "connecting" ? "connecting…" : "not connected"}</span>
  );
}

export function App() {
  const session = useNewSession();
  const route = useRoute();
  const [theme, setTheme] = useTheme();
  const main = useRef<HTMLElement>(null);
  const path = route.path.join("/");
  const first = useRef(true);
  useEffect(() => {
    const title = PAGES.find(([name]) => name === (route.path[0] ?? ""))?.[1];
    document.title = [route.path.slice(1).join("/"), title, "fabricd"].filter(Boolean).join(" · ");
    if (!first.current) main.current?.focus({ preventScroll: true });
    if (!first.current) scrollTo(0, 0);
    // On narrow screens the navigation scrolls sideways.
    document
      .querySelector("header nav [aria-current]")
      ?.scrollIntoView({ block: "nearest", inline: "nearest" });
    first.current = false;
  }, [path]);
  const unknown = session.identityError !== undefined && session.identityError.status !== 0;
  return (
    <SessionContext.Provider value={session}>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="#/">
          fabricd
        </a>
        <nav aria-label="Pages">
          {PAGES.filter(
            ([name]) => !ADMIN_PAGES.includes(name) || mayAdministrate(session.identity),
          ).map(([name, title]) => (
            <a
              key={name}
              href={hashOf(name === "" ? [] : [name])}
              aria-current={(route.path[0] ?? "") === name ? "page" : undefined}
            >
              {title}
            </a>
          ))}
          <a href="/docs/">Manual</a>
        </nav>
        <div class="status">
          <span role="status">
            <Connection session={session} />
          </span>
          <label class="check">
            <span class="sr">Colours</span>
            <select
              value={theme}
              onChange={(event) => setTheme(event.currentTarget.value as Theme)}
            >
              <option value="">system</option>
              <option value="light">light</option>
              <option value="dark">dark</option>
            </select>
          </label>
          <a href="#/identity">{session.identity?.name ?? "sign in"}</a>
        </div>
      </header>
      {session.stream === "lost" && !unknown && (
        <p class="banner" role="alert">
          Connection lost: {session.streamReason}. Values below can be out of date. Trying again.
        </p>
      )}
      <main id="main" ref={main} tabIndex={-1}>
        {unknown ? (
          <SignIn />
        ) : session.identity ? (
          <Page route={route} key={path} />
        ) : (
          <p class="empty">Connecting to fabricd…</p>
        )}
      </main>
    </SessionContext.Provider>
  );
}
