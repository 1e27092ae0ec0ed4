// The pages, one address pattern each. A page and its styles are loaded when it is first opened. `:name` in a pattern
// is one segment of the address; a page gets it decoded in its property `params`. `nav` puts a page into the
// navigation: its label, its icon (components/Icon.svelte) and the key after `g`.
export const pages = [
  { path: '/', title: 'Overview', load: () => import('./pages/Overview.svelte'), nav: { icon: 'home', key: 'o' } },
  { path: '/plugins', title: 'Plugins', load: () => import('./pages/Plugins.svelte'), nav: { icon: 'plug', key: 'p' } },
  { path: '/plugins/:name', title: 'Plugin', load: () => import('./pages/Plugin.svelte'), under: '/plugins' },
  { path: '/pipeline', title: 'Pipeline', load: () => import('./pages/Pipeline.svelte'), nav: { icon: 'pipeline', key: 'l' } },
  { path: '/trace', title: 'Trace', load: () => import('./pages/Trace.svelte'), nav: { icon: 'trace', key: 't' } },
  { path: '/trace/event/:id', title: 'Event', load: () => import('./pages/TraceEvent.svelte'), under: '/trace' },
  { path: '/trace/:session/:turn', title: 'Turn', load: () => import('./pages/TraceTurn.svelte'), under: '/trace' },
  { path: '/try', title: 'Try', load: () => import('./pages/Try.svelte'), nav: { icon: 'try', key: 'y' } },
  { path: '/try/tool/:tool', title: 'Try a tool', load: () => import('./pages/Try.svelte'), under: '/try' },
  { path: '/try/point/:point', title: 'Try a point', load: () => import('./pages/Try.svelte'), under: '/try' },
  { path: '/chat', title: 'Chat', load: () => import('./pages/Chat.svelte'), nav: { icon: 'chat', key: 'c' } },
  { path: '/chat/:session', title: 'Chat', load: () => import('./pages/Chat.svelte'), under: '/chat' },
  { path: '/python', title: 'Python', load: () => import('./pages/Python.svelte'), nav: { icon: 'code', key: 'n' } },
  { path: '/python/:name', title: 'Python', load: () => import('./pages/Python.svelte'), under: '/python' },
  { path: '/jobs', title: 'Jobs', load: () => import('./pages/Jobs.svelte'), nav: { icon: 'clock', key: 'j' } },
  { path: '/jobs/:agent', title: 'Agent', load: () => import('./pages/Job.svelte'), under: '/jobs' },
  { path: '/runs/:agent/:schedule/:time', title: 'Run', load: () => import('./pages/Run.svelte'), under: '/jobs' },
  { path: '/doctor', title: 'Doctor', load: () => import('./pages/Doctor.svelte'), nav: { icon: 'pulse', key: 'd' } },
];
