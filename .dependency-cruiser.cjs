// Arrows point one way: contract <- domain packages <- http, mcp, dashboard, operator <- cmd.
const domain = 'accounts|credits|searches|capture|lanes|watches|webhooks';
const infrastructure = 'postgres|queue|artifacts|telemetry|runtime|config|network';
const edges = 'http|mcp|dashboard|operator';

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'enter-a-package-through-its-index',
      comment: 'A package is one module to others: what index.ts exports is its interface.',
      severity: 'error',
      from: { path: '^pkg/([^/]+)/' },
      to: { path: '^pkg/([^/]+)/', pathNot: ['^pkg/$1/', '^pkg/[^/]+/index\\.ts$'] },
    },
    {
      name: 'commands-enter-through-the-index',
      severity: 'error',
      from: { path: '^cmd/' },
      to: { path: '^pkg/[^/]+/', pathNot: '^pkg/[^/]+/index\\.ts$' },
    },
    { name: 'nothing-imports-cmd', severity: 'error', from: { path: '^pkg/' }, to: { path: '^(cmd|test)/' } },
    {
      name: 'contract-imports-nothing-of-ours',
      severity: 'error',
      from: { path: '^pkg/contract/' },
      to: { path: '^pkg/', pathNot: '^pkg/contract/' },
    },
    {
      name: 'infrastructure-knows-no-domain',
      severity: 'error',
      from: { path: `^pkg/(${infrastructure})/` },
      to: { path: `^pkg/(${domain}|${edges}|demo)/` },
    },
    {
      name: 'domain-knows-no-edge',
      severity: 'error',
      from: { path: `^pkg/(${domain})/`, pathNot: '\\.test\\.ts$' },
      to: { path: `^pkg/(${edges}|demo)/` },
    },
    {
      name: 'the-demo-stands-alone',
      comment: 'The simulated engines must not learn how they are captured.',
      severity: 'error',
      from: { path: '^pkg/demo/' },
      to: { path: '^pkg/', pathNot: '^pkg/(demo|runtime)/' },
    },
    {
      name: 'the-engine-stays-in-capture',
      severity: 'error',
      from: { path: '^(pkg|cmd)/', pathNot: ['^pkg/capture/', '\\.test\\.ts$'] },
      to: { path: 'node_modules/playwright-core' },
    },
    {
      name: 'the-control-loop-knows-no-kind-of-ours',
      severity: 'error',
      from: { path: '^pkg/operator/kube/' },
      to: { path: '^pkg/', pathNot: '^pkg/(operator/kube/|runtime/index\\.ts$)' },
    },
    {
      name: 'the-control-loop-is-entered-through-its-index',
      severity: 'error',
      from: { path: '^pkg/operator/', pathNot: '^pkg/operator/kube/' },
      to: { path: '^pkg/operator/kube/', pathNot: '^pkg/operator/kube/index\\.ts$' },
    },
    {
      name: 'kubernetes-stays-in-the-operator',
      comment: 'Its client costs 80 MB of memory and half a second at the start.',
      severity: 'error',
      from: { path: '^(pkg|cmd)/', pathNot: '^(pkg/operator|cmd/controller)/' },
      to: { path: 'node_modules/@kubernetes' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
