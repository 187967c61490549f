export { createDemoServer, type DemoServer } from './server.ts';
